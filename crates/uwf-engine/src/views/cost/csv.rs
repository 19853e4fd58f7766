//! Costs as comma-separated values.

use std::collections::BTreeSet;

use uwf_core::money;

use super::{CostBy, CostReport};

impl CostReport {
    /// All rows as a table for spreadsheets. The total is left out, so that adding up a column counts nothing twice. An empty cell is an
    /// unknown value.
    pub fn csv(&self) -> String {
        let has_workflow = self.by == CostBy::Thread;
        // The columns are the same with and without costs; other currencies get columns of their own.
        let currencies = self.total.cost.keys().map(|(currency, _)| currency.as_str());
        let currencies: BTreeSet<&str> = currencies.chain(["USD"]).collect();
        let name = format!("{:?}", self.by).to_lowercase();
        let mut headings = vec![name];
        headings.extend(has_workflow.then(|| "workflow".to_owned()));
        let counts = ["steps", "failedAttempts", "input", "cached", "output", "reasoning", "tokensUnknown"];
        headings.extend(counts.map(str::to_owned));
        headings.extend(currencies.iter().map(|currency| format!("cost{currency}")));
        headings.extend(["costUnknown", "durationMs", "running"].map(str::to_owned));
        let mut text = csv_line(&headings);
        for row in &self.rows {
            let spent = &row.spent;
            let number = |sum: Option<u64>| sum.map(|sum| sum.to_string()).unwrap_or_default();
            let mut cells = vec![row.name.clone().unwrap_or_default()];
            cells.extend(has_workflow.then(|| row.workflow.clone().unwrap_or_default()));
            cells.extend([spent.steps.to_string(), spent.failed_attempts.to_string()]);
            let sums = [spent.tokens.input, spent.tokens.cached, spent.tokens.output, spent.tokens.reasoning];
            cells.extend(sums.map(number));
            cells.push(spent.tokens_unknown.to_string());
            let sums = spent.by_currency();
            cells.extend(
                currencies
                    .iter()
                    .map(|currency| sums.get(currency).map(|sum| money::rounded(*sum).to_string()).unwrap_or_default()),
            );
            cells.extend([spent.cost_unknown.to_string(), spent.duration_ms.to_string(), spent.running.to_string()]);
            text.push_str(&csv_line(&cells));
        }
        text
    }
}

/// A line as in RFC 4180, except that it ends like the lines of every other tool here.
fn csv_line(cells: &[String]) -> String {
    let quoted = |cell: &String| {
        // Spreadsheets treat a cell that begins with one of these as a formula.
        let is_formula = cell.starts_with(['=', '+', '-', '@', '\t']);
        let cell = if is_formula { format!("'{cell}") } else { cell.clone() };
        if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
    };
    cells.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::csv_line;

    #[test]
    fn cells_that_would_break_a_table_are_quoted() {
        let cells = ["a", "b,c", "say \"x\"", "=1+1", ""].map(str::to_owned);
        assert_eq!(csv_line(&cells), "a,\"b,c\",\"say \"\"x\"\"\",'=1+1,\n");
    }
}
