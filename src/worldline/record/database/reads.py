"""Statements that read: one table, two tables, groups, windows, common table expressions, functions, the catalogue."""

# ruff: noqa: E501 - a statement reads best on one line

from __future__ import annotations

import random
from collections.abc import Callable

from worldline.record.database.facts import Facts, literal

__all__ = ["ANALYSIS", "CATALOGUE", "GROUPS", "JOINS", "SIMPLE", "WINDOWS", "Maker", "filtered", "grouped"]

Maker = Callable[[Facts, random.Random, str], str]
"""Writes a statement about a table for an engine."""


def _columns(facts: Facts, dice: random.Random) -> str:
    names = [column.name for column in facts.columns]
    return ", ".join(dice.sample(names, min(len(names), dice.randint(2, 3))))


def _where(facts: Facts, dice: random.Random) -> str:
    number, text = facts.number(dice), facts.of("text", dice)
    return dice.choice(
        (
            f"{number.name} > {literal(number, dice)}",
            f"{number.name} BETWEEN {literal(number, dice)} AND {literal(number, dice)}",
            f"{text.name} = {literal(text, dice)}",
            f"{text.name} LIKE '%{dice.choice('aeiost')}%'",
            f"{text.name} IN ({literal(text, dice)}, {literal(text, dice)})",
            f"{number.name} IS NULL",
            f"NOT ({number.name} <= {literal(number, dice)}) OR {text.name} <> {literal(text, dice)}",
            f"{facts.key} % {dice.randint(2, 5)} = {dice.randint(0, 1)}",
        )
    )


def first_rows(f: Facts, d: random.Random, engine: str) -> str:
    return f"SELECT * FROM {f.table} LIMIT {d.randint(2, 8)}"


def filtered(f: Facts, d: random.Random, engine: str) -> str:
    """Rows that satisfy a condition."""
    return f"SELECT {f.key}, {_columns(f, d)} FROM {f.table} WHERE {_where(f, d)}"


def ordered(f: Facts, d: random.Random, engine: str) -> str:
    way = d.choice(("", " DESC", " DESC NULLS LAST", " ASC NULLS FIRST"))
    return f"SELECT {f.key}, {_columns(f, d)} FROM {f.table} ORDER BY {f.number(d).name}{way}, {f.key} LIMIT {d.randint(3, 9)}"


def by_key(f: Facts, d: random.Random, engine: str) -> str:
    return f"SELECT * FROM {f.table} WHERE {f.key} = {f.row_id(d) + d.choice((0, 0, 0, 1000))}"


def distinct(f: Facts, d: random.Random, engine: str) -> str:
    name = f.group(d).name
    return f"SELECT DISTINCT {name} FROM {f.table}" + d.choice(("", f" ORDER BY {name}", " ORDER BY 1 DESC"))


def counted(f: Facts, d: random.Random, engine: str) -> str:
    return f"SELECT count(*) AS n, count({f.number(d).name}) AS filled FROM {f.table} WHERE {_where(f, d)}"


def paged(f: Facts, d: random.Random, engine: str) -> str:
    return f"SELECT {f.key}, {f.of('text', d).name} FROM {f.table} ORDER BY {f.key} LIMIT {d.randint(3, 6)} OFFSET {d.randint(1, 30)}"


def exists(f: Facts, d: random.Random, engine: str) -> str:
    return f"SELECT EXISTS(SELECT 1 FROM {f.table} WHERE {_where(f, d)}) AS found"


def grouped(f: Facts, d: random.Random, engine: str) -> str:
    """Numbers for each group."""
    group, number = f.group(d).name, f.number(d).name
    told = d.choice((f"avg({number})", f"round(avg({number}), 2)", f"sum({number})", f"max({number}) - min({number})"))
    return f"SELECT {group}, count(*) AS n, {told} AS v FROM {f.table} GROUP BY {group} ORDER BY {group}"


def having(f: Facts, d: random.Random, engine: str) -> str:
    group = f.group(d).name
    return f"SELECT {group}, count(*) AS n FROM {f.table} GROUP BY {group} HAVING count(*) > {d.randint(1, 4)} ORDER BY n DESC, {group}"


def unordered_groups(f: Facts, d: random.Random, engine: str) -> str:
    group = f.group(d).name
    return f"SELECT {group}, min({f.number(d).name}), max({f.number(d).name}) FROM {f.table} GROUP BY {group}"


def cases(f: Facts, d: random.Random, engine: str) -> str:
    number = f.number(d)
    case = f"CASE WHEN {number.name} IS NULL THEN 'none' WHEN {number.name} > {literal(number, d)} THEN 'high' ELSE 'low' END"
    return f"SELECT {case} AS level, count(*) FROM {f.table} GROUP BY 1 ORDER BY 1"


def totals(f: Facts, d: random.Random, engine: str) -> str:
    name = f.number(d).name
    return f"SELECT count(*), sum({name}), min({name}), max({name}), avg({name}) FROM {f.table}"


def joined_texts(f: Facts, d: random.Random, engine: str) -> str:
    text = f.of("text", d).name
    if engine == "duckdb":
        return f"SELECT string_agg({text}, '; ' ORDER BY {f.key}) AS all_of_them FROM {f.table} WHERE {f.key} <= {d.randint(3, 8)}"
    return f"SELECT group_concat({text}, '; ') AS all_of_them FROM {f.table} WHERE {f.key} <= {d.randint(3, 8)}"


def joined(f: Facts, d: random.Random, engine: str) -> str:
    if f.other is None:
        return grouped(f, d, engine)
    kind = d.choice(("JOIN", "LEFT JOIN"))
    other = f.other.table
    return (
        f"SELECT t.{f.key}, o.code, t.{f.number(d).name} FROM {f.table} t {kind} {other} o ON t.{f.link} = o.name "
        f"ORDER BY t.{f.key} LIMIT {d.randint(3, 10)}"
    )


def join_counts(f: Facts, d: random.Random, engine: str) -> str:
    if f.other is None:
        return grouped(f, d, engine)
    return (
        f"SELECT o.name, count(t.{f.key}) AS n, max(t.{f.number(d).name}) AS top FROM {f.other.table} o "
        f"LEFT JOIN {f.table} t ON t.{f.link} = o.name GROUP BY o.name ORDER BY n DESC, o.name"
    )


def self_join(f: Facts, d: random.Random, engine: str) -> str:
    name = f.group(d).name
    return (
        f"SELECT a.{f.key}, b.{f.key} AS later FROM {f.table} a JOIN {f.table} b ON a.{name} = b.{name} AND a.{f.key} < b.{f.key} "
        f"ORDER BY 1, 2 LIMIT {d.randint(3, 8)}"
    )


def subquery(f: Facts, d: random.Random, engine: str) -> str:
    name = f.number(d).name
    return f"SELECT {f.key}, {name} FROM {f.table} WHERE {name} > (SELECT avg({name}) FROM {f.table}) ORDER BY {f.key} LIMIT 7"


def without(f: Facts, d: random.Random, engine: str) -> str:
    if f.other is None:
        return subquery(f, d, engine)
    return f"SELECT name FROM {f.other.table} WHERE name NOT IN (SELECT {f.link} FROM {f.table} WHERE {_where(f, d)}) ORDER BY name"


def union(f: Facts, d: random.Random, engine: str) -> str:
    word = d.choice(("UNION", "UNION ALL", "INTERSECT", "EXCEPT"))
    name = f.group(d).name
    return f"SELECT {name} FROM {f.table} WHERE {_where(f, d)} {word} SELECT {name} FROM {f.table} WHERE {_where(f, d)} ORDER BY 1 LIMIT 12"


def ranked(f: Facts, d: random.Random, engine: str) -> str:
    group, number = f.group(d).name, f.number(d).name
    function = d.choice(("row_number()", "rank()", "dense_rank()", f"lag({number})", f"lead({number}, 2)", "ntile(4)"))
    over = f"PARTITION BY {group} ORDER BY {number}, {f.key}"
    return f"SELECT {f.key}, {group}, {function} OVER ({over}) AS w FROM {f.table} ORDER BY {f.key} LIMIT {d.randint(4, 12)}"


def running(f: Facts, d: random.Random, engine: str) -> str:
    number = f.number(d).name
    frame = d.choice(("", " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", " ROWS UNBOUNDED PRECEDING"))
    return f"SELECT {f.key}, {d.choice(('sum', 'avg', 'count'))}({number}) OVER (ORDER BY {f.key}{frame}) AS run FROM {f.table} LIMIT 8"


def top_of_group(f: Facts, d: random.Random, engine: str) -> str:
    group, number = f.group(d).name, f.number(d).name
    inner = f"SELECT {group} AS g, {f.key}, row_number() OVER (PARTITION BY {group} ORDER BY {number} DESC, {f.key}) AS r FROM {f.table}"
    return f"WITH ranked AS ({inner}) SELECT g, {f.key} FROM ranked WHERE r <= {d.randint(1, 2)} ORDER BY g, r LIMIT 15"


def recursive(f: Facts, d: random.Random, engine: str) -> str:
    steps = d.randint(4, 12)
    return (
        f"WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {steps}) "
        f"SELECT s.n, count(t.{f.key}) AS c FROM s LEFT JOIN {f.table} t ON t.{f.key} % s.n = 0 GROUP BY s.n ORDER BY s.n"
    )


def with_shares(f: Facts, d: random.Random, engine: str) -> str:
    group = f.group(d).name
    return (
        f"WITH c AS (SELECT {group} AS g, count(*) AS n FROM {f.table} GROUP BY {group}), t AS (SELECT sum(n) AS total FROM c) "
        f"SELECT g, n, round(100.0 * n / total, {d.randint(0, 2)}) AS share FROM c, t ORDER BY n DESC, g LIMIT 10"
    )


_SQLITE_FUNCTIONS = (
    "substr({t}, 1, 3)", "upper({t})", "length({t})", "replace({t}, 'a', '*')", "instr({t}, 'e')", "typeof({n})",
    "coalesce({n}, 0)", "abs({n})", "round({n} / 3.0, 2)", "printf('%05d', {k})", "hex({t})", "quote({t})", "{n} || ' units'",
    "json_object('k', {k}, 't', {t})", "json_array({k}, {n})", "nullif({n}, 0)", "cast({n} AS TEXT)", "trim({t}, 'abc')",
    "min({n}, 10)", "iif({n} > 5, 'many', 'few')", "unicode({t})", "ltrim({t})", "{n} / 2", "{k} & 3", "likely({n} > 1)",
)  # fmt: skip
_DUCK_FUNCTIONS = (
    "substr({t}, 1, 3)", "upper({t})", "length({t})", "replace({t}, 'a', '*')", "strpos({t}, 'e')", "typeof({n})",
    "coalesce({n}, 0)", "abs({n})", "round({n} / 3.0, 2)", "lpad({k}::VARCHAR, 5, '0')", "hex({t})", "reverse({t})",
    "concat({n}, ' units')", "{{'k': {k}, 't': {t}}}", "[{k}, {k} * 2]", "nullif({n}, 0)", "{n}::VARCHAR", "left({t}, 2)",
    "greatest({n}, 10)", "if({n} > 5, 'many', 'few')", "{t}[1:2]", "md5({t})", "{n} // 2", "{k} & 3", "list_sum([{k}, 1])",
    "date '2024-01-30' + {k}::INTEGER", "{k}::DECIMAL(6,2)", "string_split({t}, ' ')", "regexp_replace({t}, '[aeiou]', '_')",
)  # fmt: skip


def computed(f: Facts, d: random.Random, engine: str) -> str:
    names = {"t": f.of("text", d).name, "n": f.number(d).name, "k": f.key}
    functions = d.sample(_DUCK_FUNCTIONS if engine == "duckdb" else _SQLITE_FUNCTIONS, 2)
    told = ", ".join(function.format(**names) for function in functions)
    return f"SELECT {f.key}, {told} FROM {f.table} ORDER BY {f.key} LIMIT {d.randint(2, 6)}"


_SQLITE_CONSTANTS = (
    "SELECT date('2024-02-28', '+2 days'), strftime('%W', '2024-07-01')",
    "SELECT julianday('2024-01-02') - julianday('2023-12-25') AS days",
    "SELECT 7 / 2, 7 / 2.0, 7 % 3, -7 / 2, 1e3, 10 / 0",
    "SELECT 'a' || NULL, NULL = NULL, NULL IS NULL, 1 = '1', '10' < '9', 10 < '9'",
    "SELECT json_extract('{\"a\": [1, {\"b\": 2}]}', '$.a[1].b'), json_valid('{x')",
    "SELECT value, type FROM json_each('[1, \"two\", null, 3.5]')",
    "SELECT x'48656c6c6f', cast(x'48656c6c6f' AS TEXT), zeroblob(3)",
    "VALUES (1, 'one'), (2, 'two'), (3, NULL)",
    "SELECT max(1, 2.5, '3'), typeof(max(1, 2.5, '3')), total(1), 0x1F",
    "SELECT like('%a_', 'bar'), glob('*a?', 'bar'), 'ABC' LIKE 'abc', 'abc' = 'ABC' COLLATE NOCASE",
    "SELECT 9223372036854775807 + 1, -9223372036854775808, 1.0e400",
    "SELECT datetime(1700000000, 'unixepoch'), unixepoch('2024-01-01')",
    "SELECT datetime('now') AS stamp, CURRENT_DATE AS today",
    "SELECT date('now', 'start of month', '-1 day') AS last, strftime('%Y', 'now') AS year",
    "SELECT abs(random()) % 100 AS pick",
)
_DUCK_CONSTANTS = (
    "SELECT date '2024-02-28' + INTERVAL 2 DAY, strftime(date '2024-07-01', '%W')",
    "SELECT date_diff('day', date '2023-12-25', date '2024-01-02') AS days",
    "SELECT 7 / 2, 7 // 2, 7 % 3, -7 // 2, 1e3, 10 / 0",
    "SELECT 'a' || NULL, NULL = NULL, NULL IS NULL, 1 = '1', '10' < '9'",
    "SELECT json_extract('{\"a\": [1, {\"b\": 2}]}', '$.a[1].b'), json_valid('{x')",
    "SELECT unnest([1, 2, 3]) AS u, unnest(['x', 'y']) AS v",
    "SELECT range(5), list_transform([1, 2, 3], x -> x * x), [1, 2][1]",
    "VALUES (1, 'one'), (2, 'two'), (3, NULL)",
    "SELECT greatest(1, 2.5), typeof(1.5), typeof(1), typeof(1e3), 0.1 + 0.2",
    "SELECT 'ABC' ILIKE 'abc', regexp_matches('bar', 'a.'), 'abc' SIMILAR TO 'a.*'",
    "SELECT 170141183460469231731687303715884105727, 2::HUGEINT ** 70",
    "SELECT epoch(timestamp '2024-01-01 12:00:00'), to_days(3), date_trunc('month', date '2024-05-17')",
    "SELECT struct_pack(a := 1, b := 'x') AS s, map(['k'], [1]) AS m, NULL::INTEGER AS n, true AND NULL",
    "SELECT * FROM generate_series(1, 9, 3)",
    "SELECT current_date AS today",
    "SELECT round(random() * 100) AS pick",
)


def constants(f: Facts, d: random.Random, engine: str) -> str:
    return d.choice(_DUCK_CONSTANTS if engine == "duckdb" else _SQLITE_CONSTANTS)


def statistics(f: Facts, d: random.Random, engine: str) -> str:
    number = f.number(d).name
    if engine == "duckdb":
        return f"SELECT median({number}), quantile_cont({number}, 0.9), stddev({number}), mode({f.group(d).name}) FROM {f.table}"
    return f"SELECT avg({number} * {number}) - avg({number}) * avg({number}) AS variance FROM {f.table}"


def plan(f: Facts, d: random.Random, engine: str) -> str:
    word = "EXPLAIN" if engine == "duckdb" else "EXPLAIN QUERY PLAN"
    maker = d.choice((filtered, ordered, grouped, joined, subquery))
    return f"{word} {maker(f, d, engine)}"


_PRAGMAS = "table_info({t})|index_list({t})|foreign_key_list({t})|foreign_keys|user_version|page_count|table_xinfo({t})|encoding"
_PRAGMAS += "|integrity_check|journal_mode|foreign_key_check|schema_version|freelist_count|quick_check"
_SQLITE_CATALOGUE = (
    "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name",
    "SELECT count(*) FROM sqlite_schema WHERE type = 'index'",
    "SELECT type, name, tbl_name FROM sqlite_master ORDER BY name",
    *(f"PRAGMA {name}" for name in _PRAGMAS.split("|")),
)
_DUCK_CATALOGUE = (
    "SHOW TABLES",
    "DESCRIBE {t}",
    "SELECT table_name, column_name, data_type FROM information_schema.columns ORDER BY 1, ordinal_position",
    "SELECT table_name, estimated_size, column_count FROM duckdb_tables() ORDER BY 1",
    "PRAGMA table_info('{t}')",
    "SELECT constraint_type, constraint_text FROM duckdb_constraints() WHERE table_name = '{t}' ORDER BY 2",
    "SUMMARIZE {t}",
    "SELECT current_schema(), current_database()",
    "SHOW {t}",
)


def catalogue(f: Facts, d: random.Random, engine: str) -> str:
    return d.choice(_DUCK_CATALOGUE if engine == "duckdb" else _SQLITE_CATALOGUE).format(t=f.table)


SIMPLE: tuple[Maker, ...] = (first_rows, filtered, filtered, ordered, by_key, distinct, counted, paged, exists)
GROUPS: tuple[Maker, ...] = (grouped, having, unordered_groups, cases, totals, joined_texts)
JOINS: tuple[Maker, ...] = (joined, join_counts, self_join, subquery, without, union)
WINDOWS: tuple[Maker, ...] = (ranked, running, top_of_group, recursive, with_shares)
ANALYSIS: tuple[Maker, ...] = (computed, computed, constants, statistics, cases)
CATALOGUE: tuple[Maker, ...] = (plan, plan, catalogue, catalogue, catalogue)
