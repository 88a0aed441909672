"""
``nr-agent-core audit``: holds the answers of existing transcripts against the writes in them.

The way of a line: `json_values` (bytes to values), `transcripts` and `answer_lines` (values to
answers with the calls of their turn), `evidence` (did the turn write), `audit` (claims held against
evidence), and one module a format of the report. Only `table_report` and `progress` know rich.
"""
