"""Reports of a release: one for inside, with the risk, and one for those who receive the file."""

from celosia.anonymity.report.report import Audience, make_report, write_report

__all__ = ["Audience", "make_report", "write_report"]
