//! Amounts of money.

/// The smallest amount that is shown.
const LEAST: f64 = 1e-9;

/// Amounts from here on have cents only.
const CENTS: f64 = 0.1;

/// An amount in readable form: `$12.35`, `$0.0547`, `3.10 EUR`. It has cents, and a smaller one than ten cents two more digits if they aren't
/// zero. A tiny amount has its first digit, so that it doesn't look like 0.
pub fn money(amount: f64, currency: &str) -> String {
    let mut exact = if amount < CENTS { format!("{amount:.4}") } else { format!("{amount:.2}00") };
    if amount > 0.0 && exact == "0.0000" {
        let amount = amount.max(LEAST);
        exact = (5..=9)
            .map(|digits| format!("{amount:.digits$}"))
            .find(|text| text.contains(|c| ('1'..='9').contains(&c)))
            .unwrap_or(exact);
    }
    let amount = exact.strip_suffix("00").unwrap_or(&exact);
    match currency {
        "USD" => format!("${amount}"),
        other => format!("{amount} {other}"),
    }
}

/// An amount without the noise of sums of binary fractions, as in JSON and CSV.
#[must_use]
pub fn rounded(amount: f64) -> f64 {
    const PARTS: f64 = 1e9;
    let rounded = (amount * PARTS).round() / PARTS;
    if rounded.is_finite() { rounded } else { amount }
}

/// An amount of US dollars.
pub fn dollars(amount: f64) -> String {
    money(amount, "USD")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cents_are_always_shown() {
        let written = [
            (0.0, "USD"),
            (0.0312, "USD"),
            (0.525_1, "USD"),
            (12.3456, "EUR"),
            (1.5, "USD"),
            (0.000_02, "USD"),
            (1e-30, "EUR"),
        ]
        .map(|(amount, currency)| money(amount, currency));
        assert_eq!(written, ["$0.00", "$0.0312", "$0.53", "12.35 EUR", "$1.50", "$0.00002", "0.000000001 EUR"]);
    }
}
