"""Queries over the clinic, by hand. Nothing is tested here.

Each with the lists of its keys' values in order: the answer has a row for every combination.
All are SQL of DuckDB too, after a few macros, and so are answered by it from the raw rows.
"""

from __future__ import annotations

import datetime

from tests.differential.clinic import KINDS, LABS, REGIONS, SEXES

Keys = list[list[object]]
TRUTHS: list[object] = [False, True]
SITES: list[object] = [1, 2, 3, 4, 5, 6]


def _days(*texts: str) -> list[object]:
    return [datetime.date.fromisoformat(text) for text in texts]


def _mondays(first: str, weeks: int) -> list[object]:
    start = datetime.date.fromisoformat(first)
    return [start + datetime.timedelta(7 * week) for week in range(weeks)]


MONTHS = _days("2023-11-01", "2023-12-01", "2024-01-01", "2024-02-01", "2024-03-01")
QUARTERS = _days("2023-10-01", "2024-01-01")
YEARS = _days("2023-01-01", "2024-01-01")
WEEKS = _mondays("2023-10-30", 22)
L: list[object] = [*LABS]
S: list[object] = [*SEXES]
K: list[object] = [*KINDS]
R: list[object] = [*REGIONS]

#: One number or several, without keys.
PLAIN = """
SELECT COUNT(*) AS n FROM labs
select count(*) as n from LABS
SELECT COUNT(DISTINCT id) AS n FROM labs
SELECT COUNT(DISTINCT labs.id) AS n FROM labs WHERE value > 400
SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS u, SUM(value) AS s, SUM(price) AS p FROM labs
SELECT SUM(value) AS s FROM labs WHERE value < 0
SELECT SUM(urgent) AS s FROM labs
SELECT SUM(urgent) AS s, COUNT(*) AS n FROM labs WHERE NOT urgent OR value > 100
SELECT AVG(value) AS m, SUM(value) AS s, COUNT(*) AS n FROM labs
SELECT AVG(price) AS m FROM labs WHERE lab = 'hdl'
SELECT AVG(income) AS m FROM people
SELECT AVG(-income) AS m FROM people WHERE smoker
SELECT VAR_POP(value) AS v, VAR_SAMP(value) AS w FROM labs
SELECT VARIANCE(price) AS v, VAR_SAMP(price) AS w FROM labs WHERE urgent
SELECT STDDEV_POP(price) AS v, STDDEV_SAMP(price) AS w, STDDEV(price) AS x FROM labs
SELECT STDDEV(age) AS v, AVG(age) AS m FROM people WHERE sex = 'female'
SELECT VAR_POP(income) AS v FROM people
SELECT QUANTILE(age, 0.25) AS q FROM people
SELECT QUANTILE(age, 0.1) AS q, QUANTILE(age, 0.9) AS r, MEDIAN(age) AS m FROM people
SELECT MEDIAN(value) AS m FROM labs
SELECT QUANTILE(value, 0.75) AS q FROM labs WHERE value BETWEEN 0 AND 250
SELECT MEDIAN(price) AS m FROM labs
SELECT QUANTILE(taken, 0.5) AS m FROM labs
SELECT MEDIAN(BUCKET(income, 25)) AS m FROM people
SELECT SUM(value + 1) AS s, SUM(value - 1) AS t, SUM(2 * value) AS u FROM labs
SELECT SUM(value * price) AS s FROM labs
SELECT SUM(price * price) AS s FROM labs
SELECT SUM(price * price * price) AS s FROM labs WHERE price < 2.5
SELECT SUM(-value) AS s, SUM(- - value) AS t FROM labs
SELECT SUM(ABS(value)) AS s, SUM(ABS(-price)) AS t, SUM(ABS(value - 250)) AS u FROM labs
SELECT SUM(1) AS s, SUM(0.25) AS t, SUM(-3) AS u FROM labs
SELECT SUM(value + price) AS s, SUM(price - value) AS t FROM labs
SELECT SUM((value + 1) * (price - 0.5)) AS s FROM labs
SELECT SUM(value - (price - 1)) AS s, SUM(value - price - 1) AS t FROM labs
SELECT SUM(CLAMP(value, 0, 100)) AS s FROM labs
SELECT SUM(CLAMP(price, 1.5, 7.25)) AS s, AVG(CLAMP(price, 0, 1)) AS m FROM labs
SELECT SUM(CLAMP(value, -2.5, 99.75)) AS s FROM labs
SELECT SUM(CASE WHEN urgent THEN value ELSE 0 END) AS s FROM labs
SELECT SUM(CASE WHEN lab = 'hdl' THEN price WHEN lab IN ('chol', 'größe') THEN -price ELSE 0.5 END) AS s FROM labs
SELECT SUM(CASE WHEN value > 100 THEN CASE WHEN urgent THEN 2 ELSE 1 END ELSE 0 END) AS s FROM labs
SELECT SUM(CASE WHEN value > price * 50 THEN TRUE ELSE FALSE END) AS s FROM labs
SELECT SUM(CASE WHEN value > 100 AND NOT urgent OR lab = 'it''s' THEN 1 ELSE 0 END) AS s FROM labs
SELECT SUM(YEAR(taken)) AS y, SUM(MONTH(taken)) AS m, SUM(DAY(taken)) AS d FROM labs
SELECT SUM(QUARTER(taken)) AS q, SUM(ISODOW(taken)) AS w FROM labs
SELECT SUM(ISODOW(DATE '2024-01-07') + QUARTER(DATE '2024-10-01') * 10 + DAY(DATE '2024-02-29')) AS s FROM labs
SELECT SUM(EXTRACT(month FROM taken)) AS m, SUM(DATE_PART('isodow', taken)) AS w FROM labs
SELECT SUM(EXTRACT(YEAR FROM born)) AS y, AVG(YEAR(born)) AS m FROM people
SELECT SUM(taken - DATE '2023-11-05') AS s, AVG(taken - DATE '2024-01-01') AS m FROM labs
SELECT SUM(DATE '2024-03-31' - taken) AS s FROM labs WHERE taken >= '2024-02-15'
SELECT COUNT(*) AS n FROM labs WHERE value = 92
SELECT COUNT(*) AS n FROM labs WHERE value <> 92 AND value >= 0
SELECT COUNT(*) AS n FROM labs WHERE 92 < value AND 300 >= value
SELECT COUNT(*) AS n FROM labs WHERE value BETWEEN 0 AND 92
SELECT COUNT(*) AS n FROM labs WHERE value NOT BETWEEN 0 AND 92
SELECT COUNT(*) AS n FROM labs WHERE value BETWEEN 92 AND 0
SELECT COUNT(*) AS n FROM labs WHERE NOT value BETWEEN 0.5 AND 91.5
SELECT COUNT(*) AS n FROM labs WHERE value IN (92, 189, 600)
SELECT COUNT(*) AS n FROM labs WHERE value NOT IN (92, 189, 600)
SELECT COUNT(*) AS n FROM labs WHERE price < 3.31
SELECT COUNT(*) AS n FROM labs WHERE price <= 3.31
SELECT COUNT(*) AS n FROM labs WHERE price = 3.310
SELECT COUNT(*) AS n FROM labs WHERE price > 3.305
SELECT COUNT(*) AS n FROM labs WHERE price IN (3.31, 6.62, 9.9300)
SELECT COUNT(*) AS n FROM labs WHERE price * 2 > 10
SELECT COUNT(*) AS n FROM labs WHERE price + value > 100.5
SELECT COUNT(*) AS n FROM labs WHERE value > price
SELECT COUNT(*) AS n FROM labs WHERE value - 50 <= price * price
SELECT COUNT(*) AS n FROM labs WHERE ABS(value - 200) BETWEEN 50 AND 99.5
SELECT COUNT(*) AS n FROM labs WHERE lab = 'it''s'
SELECT COUNT(*) AS n FROM labs WHERE lab <> 'it''s'
SELECT COUNT(*) AS n FROM labs WHERE lab IN ('größe', 'hdl')
SELECT COUNT(*) AS n FROM labs WHERE lab NOT IN ('größe', 'hdl')
SELECT COUNT(*) AS n FROM labs WHERE NOT lab NOT IN ('größe', 'hdl')
SELECT COUNT(*) AS n FROM labs WHERE urgent
SELECT COUNT(*) AS n FROM labs WHERE NOT urgent
SELECT COUNT(*) AS n FROM labs WHERE urgent = FALSE
SELECT COUNT(*) AS n FROM labs WHERE urgent <> TRUE AND TRUE
SELECT COUNT(*) AS n FROM labs WHERE FALSE
SELECT COUNT(*) AS n, SUM(value) AS s FROM labs WHERE FALSE OR value = 500
SELECT COUNT(*) AS n FROM labs WHERE taken = DATE '2023-12-04'
SELECT COUNT(*) AS n FROM labs WHERE taken > '2023-12-04'
SELECT COUNT(*) AS n FROM labs WHERE taken BETWEEN '2023-12-04' AND DATE '2024-01-31'
SELECT COUNT(*) AS n FROM labs WHERE taken IN ('2023-12-04', '2024-01-02', '2030-01-01')
SELECT COUNT(*) AS n FROM labs WHERE YEAR(taken) = 2024 AND MONTH(taken) <> 2
SELECT COUNT(*) AS n FROM labs WHERE ISODOW(taken) >= 6
SELECT COUNT(*) AS n FROM labs WHERE DATE_TRUNC('month', taken) = DATE '2023-12-01'
SELECT COUNT(*) AS n FROM labs WHERE DATE_TRUNC('week', taken) >= '2024-01-01'
SELECT COUNT(*) AS n FROM labs WHERE taken >= DATE_TRUNC('month', DATE '2024-01-17')
SELECT COUNT(*) AS n, COUNT(*) AS m, SUM(value) AS s, SUM(value) AS t FROM labs
SELECT COUNT(*) AS n FROM labs WHERE taken - DATE '2024-01-01' BETWEEN -5 AND 20.5
SELECT COUNT(*) AS n FROM labs WHERE BUCKET(value, 100) = 200
SELECT COUNT(*) AS n FROM labs WHERE BUCKET(value, 50, 25) IN (25, 425)
SELECT COUNT(*) AS n FROM labs WHERE CLAMP(value, 10, 20) = 10
SELECT COUNT(*) AS n FROM labs WHERE CASE WHEN urgent THEN value ELSE 2 * value END > 300
SELECT COUNT(*) AS n FROM labs WHERE value > 100 AND urgent OR lab = 'hdl' AND NOT urgent
SELECT COUNT(*) AS n FROM labs WHERE value > 100 AND (urgent OR lab = 'hdl') AND NOT (urgent AND price > 5)
SELECT COUNT(*) AS n FROM labs WHERE NOT (value > 100 OR urgent)
SELECT COUNT(*) AS n FROM labs WHERE ((value > 100)) AND (NOT (NOT (urgent)))
SELECT COUNT(*) AS n FROM people WHERE smoker AND sex = 'male' OR age < 30
SELECT COUNT(*) AS n FROM people WHERE income < 0
SELECT SUM(income) AS s, COUNT(DISTINCT id) AS n FROM people WHERE born < '1970-01-01'
SELECT COUNT(*) AS n FROM labs AS l WHERE l.value > 100
SELECT COUNT(*) AS n FROM labs l WHERE "l"."value" > 100 AND L.urgent
SELECT COUNT(*) AS n FROM visits WHERE "Day in" < '2024-07-01' AND visits."Day in" >= '2024-02-01'
SELECT COUNT(*) AS n, SUM(days) AS s, AVG(days) AS m, STDDEV_POP(days) AS d FROM visits
SELECT COUNT(*) AS n FROM labs JOIN people USING (id)
SELECT COUNT(*) AS n, COUNT(DISTINCT labs.id) AS u FROM labs JOIN people ON labs.id = people.id
SELECT SUM(value) AS s FROM people JOIN labs ON labs.id = people.id WHERE age > 40
SELECT SUM(value * age) AS s FROM people AS p JOIN labs AS q ON p.id = q.id WHERE NOT smoker
SELECT AVG(value) AS m, VAR_POP(value) AS v FROM labs JOIN people USING (id) WHERE age BETWEEN 40 AND 65 AND sex = 'male'
SELECT SUM(taken - born) AS s FROM labs JOIN people USING (id)
SELECT COUNT(*) AS n, SUM(value) AS s, SUM(days) AS d FROM labs JOIN visits USING (id)
SELECT COUNT(*) AS n FROM labs JOIN visits USING (id) WHERE labs.site = visits.site
SELECT COUNT(*) AS n, SUM(value - days) AS s FROM labs JOIN visits USING (id) JOIN people USING (id)
SELECT COUNT(DISTINCT people.id) AS n FROM labs JOIN visits USING (id) JOIN people ON people.id = labs.id WHERE smoker
SELECT SUM(beds) AS s, COUNT(*) AS n FROM labs JOIN sites USING (site)
SELECT SUM(beds) AS s FROM labs JOIN sites ON labs.site = sites.site WHERE region = 'south'
SELECT COUNT(*) AS n FROM labs JOIN names USING (lab) WHERE kind = 'blood' AND NOT fasting
SELECT SUM(fasting) AS s, AVG(beds) AS m FROM labs JOIN sites USING (site) JOIN names USING (lab)
SELECT COUNT(*) AS n, SUM(beds * days) AS s FROM visits AS v JOIN sites AS s ON s.site = v.site
SELECT COUNT(*) AS n FROM visits JOIN sites ON visits.site = sites.site JOIN people ON people.id = visits.id WHERE beds > age
SELECT MEDIAN(value) AS m, COUNT(*) AS n FROM labs JOIN people USING (id) WHERE sex = 'male'
"""
#: With keys, the lists of whose values follow.
GROUPED: list[tuple[str, Keys]] = [
    ("SELECT lab, COUNT(*) AS n FROM labs GROUP BY lab", [L]),
    ("SELECT COUNT(*) AS n, lab FROM labs GROUP BY LAB", [L]),
    ("SELECT lab, COUNT(DISTINCT id) AS n FROM labs GROUP BY lab", [L]),
    ("SELECT lab, SUM(value) AS s, AVG(value) AS m, COUNT(*) AS n FROM labs GROUP BY lab", [L]),
    ("SELECT lab, SUM(value) AS s FROM labs WHERE value > 480 GROUP BY lab", [L]),
    ("SELECT lab, AVG(price) AS m FROM labs WHERE urgent GROUP BY lab", [L]),
    ("SELECT lab, STDDEV_POP(value) AS m, VAR_SAMP(value) AS v FROM labs GROUP BY lab", [L]),
    ("SELECT lab, MEDIAN(value) AS m FROM labs GROUP BY lab", [L]),
    ("SELECT lab, QUANTILE(BUCKET(price, 0.5), 0.3) AS m FROM labs GROUP BY lab", [L]),
    ("SELECT lab AS test, COUNT(*) AS n FROM labs GROUP BY test", [L]),
    ('SELECT lab AS "the lab", COUNT(*) AS n FROM labs GROUP BY "the lab"', [L]),
    ("SELECT urgent, COUNT(*) AS n FROM labs GROUP BY urgent", [TRUTHS]),
    ("SELECT urgent, lab, COUNT(*) AS n FROM labs GROUP BY urgent, lab", [TRUTHS, L]),
    ("SELECT lab, urgent, COUNT(*) AS n FROM labs GROUP BY lab, urgent", [L, TRUTHS]),
    ("SELECT urgent, lab, SUM(price) AS s FROM labs GROUP BY lab, urgent", [L, TRUTHS]),
    ("SELECT site, COUNT(*) AS n FROM labs GROUP BY site", [SITES]),
    ("SELECT site, urgent, COUNT(DISTINCT id) AS n FROM labs GROUP BY site, urgent", [SITES, TRUTHS]),
    ("SELECT lab, COUNT(*) AS n FROM labs WHERE lab IN ('größe', 'hdl') GROUP BY lab", [["hdl", "größe"]]),
    ("SELECT lab, COUNT(*) AS n FROM labs WHERE lab <> 'chol' AND value > 9 GROUP BY lab", [["hdl", "it's", "größe"]]),
    ("SELECT lab, COUNT(*) AS n FROM labs WHERE lab = 'chol' OR value > 400 GROUP BY lab", [L]),
    ("SELECT lab, COUNT(*) AS n FROM labs WHERE (lab = 'chol' OR lab = 'hdl') GROUP BY lab", [["hdl", "chol"]]),
    ("SELECT site, COUNT(*) AS n FROM labs WHERE site BETWEEN 2 AND 4 AND site <> 3 GROUP BY site", [[2, 4]]),
    ("SELECT site, lab, COUNT(*) AS n FROM labs WHERE site > 4 AND lab NOT IN ('hdl', 'chol') GROUP BY site, lab", [[5, 6], ["it's", "größe"]]),
    ("SELECT urgent, COUNT(*) AS n FROM labs WHERE urgent GROUP BY urgent", [[True]]),
    ("SELECT urgent, COUNT(*) AS n FROM labs WHERE NOT urgent AND value > 50 GROUP BY urgent", [[False]]),
    ("SELECT BUCKET(value, 100) AS b, COUNT(*) AS n FROM labs GROUP BY b", [[-100, 0, 100, 200, 300, 400, 500]]),
    ("SELECT BUCKET(value, 100, 50) AS b, COUNT(*) AS n FROM labs GROUP BY BUCKET(value, 100, 50)", [[-50, 50, 150, 250, 350, 450]]),
    ("SELECT BUCKET(price, 2.5) AS b, SUM(price) AS n FROM labs GROUP BY b", [[0, 2.5, 5, 7.5, 10]]),
    ("SELECT BUCKET(price, 4, 0.5) AS b, COUNT(*) AS n FROM labs GROUP BY b", [[-3.5, 0.5, 4.5, 8.5]]),
    ("SELECT BUCKET(age, 10) AS decade, AVG(income) AS m, COUNT(*) AS n FROM people GROUP BY decade", [[*range(0, 100, 10)]]),
    ("SELECT BUCKET(age, 20) AS b, COUNT(*) AS n FROM people WHERE BUCKET(age, 20) >= 40 GROUP BY b", [[40, 60, 80]]),
    ("SELECT BUCKET(-value, 250) AS b, COUNT(*) AS n FROM labs GROUP BY b", [[-500, -250, 0]]),
    ("SELECT DATE_TRUNC('month', taken) AS m, COUNT(*) AS n FROM labs GROUP BY m", [MONTHS]),
    ("SELECT DATE_TRUNC('quarter', taken) AS q, SUM(value) AS n FROM labs GROUP BY q", [QUARTERS]),
    ("SELECT DATE_TRUNC('year', taken) AS y, COUNT(DISTINCT id) AS n FROM labs GROUP BY y", [YEARS]),
    ("SELECT DATE_TRUNC('week', taken) AS w, COUNT(*) AS n FROM labs GROUP BY w", [WEEKS]),
    ("SELECT DATE_TRUNC('month', taken) AS m, lab, COUNT(*) AS n FROM labs WHERE DATE_TRUNC('month', taken) >= '2024-02-01' GROUP BY m, lab", [MONTHS[3:], L]),
    ("SELECT YEAR(taken) AS y, COUNT(*) AS n FROM labs GROUP BY y", [[2023, 2024]]),
    ("SELECT QUARTER(taken) AS q, COUNT(*) AS n FROM labs GROUP BY q", [[1, 2, 3, 4]]),
    ("SELECT MONTH(taken) AS m, AVG(value) AS n FROM labs GROUP BY m", [[*range(1, 13)]]),
    ("SELECT EXTRACT(month FROM taken) AS m, COUNT(*) AS n FROM labs WHERE MONTH(taken) IN (11, 12) GROUP BY m", [[11, 12]]),
    ("SELECT ISODOW(taken) AS d, COUNT(*) AS n FROM labs GROUP BY d", [[*range(1, 8)]]),
    ("SELECT DAY(taken) AS d, COUNT(*) AS n FROM labs GROUP BY DAY(taken)", [[*range(1, 32)]]),
    ("SELECT CASE WHEN value > 250 THEN 'hdl' ELSE 'chol' END AS c, COUNT(*) AS n FROM labs GROUP BY c", [["hdl", "chol"]]),
    ("SELECT CASE WHEN urgent THEN 'now' WHEN value > 99 THEN 'soon' ELSE 'later' END AS c, SUM(price) AS n FROM labs GROUP BY c", [["now", "soon", "later"]]),
    ("SELECT CASE WHEN urgent THEN 1 ELSE 0 END AS c, COUNT(*) AS n FROM labs GROUP BY c", [[0, 1]]),
    ("SELECT CASE WHEN urgent THEN 5 ELSE 1 END AS c, COUNT(*) AS n FROM labs GROUP BY c", [[1, 5]]),
    ("SELECT CASE WHEN urgent THEN site ELSE 2.5 END AS c, COUNT(*) AS n FROM labs GROUP BY c", [[1, 2, 2.5, 3, 4, 5, 6]]),
    ("SELECT value > 250 AS high, SUM(price) AS n FROM labs GROUP BY high", [TRUTHS]),
    ("SELECT lab, SUM(value > 250) AS n FROM labs WHERE NOT (lab = 'hdl' OR urgent) GROUP BY lab", [L[1:]]),
    ("SELECT lab, COUNT(*) AS n FROM labs WHERE lab = 'hdl' AND lab = 'chol' GROUP BY lab", [L]),
    ("SELECT age - 90 AS d, COUNT(*) AS n FROM people WHERE age - 90 >= 6 GROUP BY d", [[6, 7, 8, 9]]),
    ("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", [S]),
    ("SELECT sex, smoker, AVG(age) AS m, COUNT(*) AS n FROM people GROUP BY sex, smoker", [S, TRUTHS]),
    ("SELECT sex, COUNT(*) AS n, AVG(value) AS m FROM labs JOIN people USING (id) GROUP BY sex", [S]),
    ("SELECT lab, COUNT(*) AS n, AVG(value) AS mean FROM labs JOIN people USING (id) WHERE age BETWEEN 40 AND 65 AND NOT smoker GROUP BY lab", [L]),
    ("SELECT sex, lab, COUNT(DISTINCT people.id) AS n FROM people JOIN labs ON people.id = labs.id GROUP BY sex, lab", [S, L]),
    ("SELECT labs.site, COUNT(*) AS n FROM labs JOIN visits USING (id) GROUP BY labs.site", [SITES]),
    ("SELECT v.site, l.lab, COUNT(*) AS n FROM labs AS l JOIN visits AS v USING (id) WHERE v.site <= 2 GROUP BY v.site, l.lab", [[1, 2], L]),
    ("SELECT sex, SUM(value) AS s, SUM(days) AS d FROM people JOIN labs USING (id) JOIN visits USING (id) GROUP BY sex", [S]),
    ("SELECT region, COUNT(*) AS n, SUM(beds) AS s FROM labs JOIN sites USING (site) GROUP BY region", [R]),
    ("SELECT region, lab, SUM(value) AS s FROM labs JOIN sites ON labs.site = sites.site GROUP BY region, lab", [R, L]),
    ("SELECT kind, COUNT(*) AS n, AVG(price) AS m FROM labs JOIN names USING (lab) GROUP BY kind", [K]),
    ("SELECT kind, COUNT(*) AS n FROM labs JOIN names USING (lab) WHERE kind = 'urine' GROUP BY kind", [["urine"]]),
    ("SELECT fasting, region, COUNT(*) AS n FROM labs JOIN names USING (lab) JOIN sites USING (site) GROUP BY fasting, region", [TRUTHS, R]),
    ("SELECT region, sex, COUNT(DISTINCT people.id) AS n FROM people JOIN visits USING (id) JOIN sites ON visits.site = sites.site GROUP BY region, sex", [R, S]),
    ("SELECT names.lab, COUNT(*) AS n FROM labs JOIN names ON names.lab = labs.lab GROUP BY names.lab", [L]),
    ("SELECT labs.site AS a, visits.site AS b, COUNT(*) AS n FROM labs JOIN visits USING (id) WHERE labs.site < 3 GROUP BY labs.site, visits.site", [[1, 2], SITES]),
    ("SELECT DATE_TRUNC('quarter', \"Day in\") AS q, SUM(days) AS s FROM visits GROUP BY q", [_days("2024-01-01", "2024-04-01", "2024-07-01", "2024-10-01")]),
]  # fmt: skip
QUERIES: list[tuple[str, Keys]] = [(sql, []) for sql in PLAIN.split("\n") if sql] + GROUPED
