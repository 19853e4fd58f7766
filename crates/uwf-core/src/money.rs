//! Amounts of money.

/// An amount in readable form: `$0.50`, `$0.0547`, `3.10 EUR`. It has cents, and two more digits if they aren't zero.
pub fn money(amount: f64, currency: &str) -> String {
    let exact = format!("{amount:.4}");
    let amount = exact.strip_suffix("00").unwrap_or(&exact);
    match currency {
        "USD" => format!("${amount}"),
        other => format!("{amount} {other}"),
    }
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
        let written = [(0.0, "USD"), (0.0312, "USD"), (12.3456, "EUR"), (1.5, "USD")]
            .map(|(amount, currency)| money(amount, currency));
        assert_eq!(written, ["$0.00", "$0.0312", "12.3456 EUR", "$1.50"]);
    }
}
