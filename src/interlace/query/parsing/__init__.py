"""The steps of ``parse``, from SQL text to a plan's pieces. Pure; sees no data.

``screen`` looks at characters and words, ``tree`` at sqlglot's tree; ``scope`` reads FROM,
``conditions`` WHERE, ``expressions`` and ``aggregates`` what is selected.
"""
