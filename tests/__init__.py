"""The tests, under this name: a package of it that some dependency installs would come first."""
