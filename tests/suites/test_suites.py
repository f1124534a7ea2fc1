"""The readers of public suites read what stands there; the suites themselves where ROOKERY_SUITES names their folder.

The folder has a checkout of each, `artemis`, `qpid`, `opendds` and `cesql`; docs/subscriptions.md has the counts.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .cases import Case, judged
from .cesql_cases import read_cesql
from .cpp_cases import read_opendds
from .java_cases import read_java
from .run import SUITES, report_of

JAVA = """
public class SomeTest {
   public void setUp() { message = new MockMessage(); message.setBooleanProperty("on", true); }
   /* assertSelector(message, "in a comment", true); */
   @Test public void one() {
      message.setIntProperty("rank", (byte) 3);
      message.setStringProperty("odd", "a;b\\\\");
      assertSelector(message, "on AND rank + 1 = 4", true);
      assertSelectorEvaluatesToUnknown("missing > 2");
      assertInvalidSelector(message, "3 +");
      message.setStringProperty("rank", "3");
      assertSelector(message, "rank = 3", false);
      assertSelector(message, "XPATH 'a/b'", true);
   }
   void two() {
      when(message.getHeader("price")).thenReturn(100);
      assertFalse(new JMSSelectorFilter("price <> 100").matches(message));
      testPass("$min=" + Long.MIN_VALUE + "L");
   }
}
"""
CPP = """
sample.name = "Eve"; sample.durability.kind = DDS::TRANSIENT_DURABILITY_QOS;
sample.durability_service.history_depth = 7; x.nanosec = 5;
FilterEvaluator eval("a = 3 b", false);
static const char* filters_pass[] = {"name LIKE 'E%'", "durability_service.history_depth > %0"};
static const char* filters_fail[] = {"durability.kind = 'PERSISTENT_DURABILITY_QOS'"};
const char* inttests[] = {"0x1F"};
const char* queries[] = {"ORDER BY x"};
"""
YAML = """
name: some
tests:
  - name: exists
    expression: EXISTS Source AND "it's" != 'b'
    result: true
  - name: value
    expression: 2 * 3
    result: 6
  - name: implicit casting
    expression: "'5' + 3"
    result: 8
  - name: missing
    expression: missing = 2
    result: false
    error: missingAttribute
  - name: broken
    expression: ABC(
    error: parse
"""


def test_java_tests_are_read_step_by_step(tmp_path: Path) -> None:
    (tmp_path / "SomeTest.java").write_text(JAVA)
    cases = list(read_java(tmp_path, ["SomeTest.java"]))
    event = {"on": True, "rank": 3, "odd": "a;b\\"}
    assert cases == [
        Case("on AND rank + 1 = 4", "true", event),
        Case("missing > 2", "unknown", event),
        Case("3 +", "invalid", event),
        Case("rank = 3", "false", event | {"rank": "3"}, left_out="type coercion"),
        Case("XPATH 'a/b'", "true", event | {"rank": "3"}, left_out="XPath"),
        Case("price <> 100", "false", {"on": True, "price": 100}),
        Case('"$min"=-9223372036854775808', "valid"),
    ]
    report = judged("some", cases)
    assert (report.run, report.agreed, dict(report.left_out)) == (5, 5, {"type coercion": 1, "XPath": 1})


def test_filters_of_opendds_are_read_with_their_sample(tmp_path: Path) -> None:
    path = tmp_path / "tests/DCPS/FilterExpression/FilterExpression.cpp"
    path.parent.mkdir(parents=True)
    path.write_text(CPP)
    cases = list(read_opendds(tmp_path))
    assert [(case.text, case.due) for case in cases] == [
        ("a = 3 b", "invalid"),
        ("name LIKE 'E%'", "true"),
        ("durability_service.history_depth > %0", "true"),
        ("durability.kind = 'PERSISTENT_DURABILITY_QOS'", "false"),
        ("x = 0x1F", "valid"),
        ("ORDER BY x", "valid"),
    ]
    report = judged("some", cases)
    assert (report.run, report.agreed, dict(report.left_out)) == (5, 5, {"ORDER BY (queries)": 1})


def test_cesql_is_put_to_its_own_reader(tmp_path: Path) -> None:
    (tmp_path / "some.yaml").write_text(YAML)
    cases = list(read_cesql(tmp_path))
    assert [(one.text, one.due) for one in cases[1:4]] == [
        ("(2 * 3) = 6", "true"), ("('5' + 3) = 8", "true"), ("missing = 2", "false"),
    ]  # fmt: skip
    report = judged("some", cases)
    assert (report.run, report.agreed, dict(report.left_out)) == (5, 5, {}), report


def test_what_differs_or_is_refused_is_counted() -> None:
    report = judged(
        "wrong", [Case("1 = 2", "true"), Case("a =", "valid"), Case("a = 1", "invalid"), Case("1 = 1", "true")]
    )
    assert (report.run, report.agreed, len(report.refused), len(report.differed)) == (4, 1, 1, 2)
    assert report.line() == "wrong: 4 run, 1 agreed, 1 refused (25.0 %), 2 differed; left out: none"


#: What is refused, and what is decided otherwise, at most (docs/subscriptions.md says each).
KNOWN = {"artemis": (6, 0), "qpid": (0, 0), "opendds": (4, 0), "cesql": (5, 0)}


@pytest.mark.parametrize("name", SUITES)
def test_a_public_suite_agrees(name: str) -> None:
    folder = Path(os.environ.get("ROOKERY_SUITES", "/nowhere")) / name
    if not folder.is_dir():
        pytest.skip("ROOKERY_SUITES names no folder with this checkout")
    report = report_of(name, folder)
    assert (len(report.refused), len(report.differed)) == KNOWN[name], [*report.refused, *report.differed]
    assert report.run > 100
    assert len(report.refused) <= report.run // 20
