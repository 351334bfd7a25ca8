//! Figures as the lines of a trace have them.

use chat_event::payload::Usage;

use crate::units::{self, dollars, tokens};

/// A duration in a line: `0.2s`, `15.3s`, `1m 40s`, `2h 05m`.
pub(super) fn duration(duration_ms: u64) -> String {
    if duration_ms < 59_950 {
        let tenths = (duration_ms + 50) / 100;
        return format!("{}.{}s", tenths / 10, tenths % 10);
    }
    units::minutes(duration_ms)
}

/// A duration where it says anything: below a twentieth of a second there is none, as on the page.
pub(super) fn told_duration(duration_ms: Option<u64>) -> Option<String> {
    duration_ms
        .filter(|&duration_ms| duration_ms >= 50)
        .map(duration)
}

/// What a turn used, as far as it is known: `3,600 tokens`, `$0.02`.
pub(super) fn spent(n_tokens: u64, cost_usd: Option<f64>) -> Vec<String> {
    let told = (n_tokens > 0).then(|| format!("{} tokens", tokens(n_tokens)));
    let cost = cost_usd.filter(|&usd| usd > 0.0).map(dollars);
    told.into_iter().chain(cost).collect()
}

/// All that a usage says: `3,600 in, 120 out, 600 cached, $0.02, model`.
pub(super) fn usage(usage: &Usage) -> String {
    let mut facts = vec![
        format!("{} in", tokens(usage.input_tokens)),
        format!("{} out", tokens(usage.output_tokens)),
    ];
    let cached = [
        (usage.cache_read_tokens, "cached"),
        (usage.cache_write_tokens, "written to the cache"),
        (usage.reasoning_tokens, "thinking"),
    ];
    for (n_tokens, what) in cached {
        if let Some(n_tokens) = n_tokens.filter(|&n_tokens| n_tokens > 0) {
            facts.push(format!("{} {what}", tokens(n_tokens)));
        }
    }
    if let (Some(used), Some(size)) = (usage.context_used, usage.context_size) {
        facts.push(format!("context {} of {}", tokens(used), tokens(size)));
    }
    facts.extend(usage.cost_usd.map(dollars));
    facts.extend(usage.model.as_deref().map(super::clean::one_line));
    facts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_as_a_reader_would() {
        for (duration_ms, told) in [
            (0, None),
            (49, None),
            (50, Some("0.1s")),
            (15_300, Some("15.3s")),
            (59_949, Some("59.9s")),
            (59_950, Some("1m 00s")),
            (100_000, Some("1m 40s")),
            (7_500_000, Some("2h 05m")),
        ] {
            assert_eq!(told_duration(Some(duration_ms)).as_deref(), told);
        }
    }
}
