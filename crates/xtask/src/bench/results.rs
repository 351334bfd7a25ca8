//! What the harness wrote: every measurement of every repetition; asked for are medians.

use std::path::Path;

use serde_json::Value;

use crate::error::Error;

/// The results of one run.
pub(super) struct Results {
    /// When it began, as the harness has it: ISO 8601, UTC.
    pub(super) started: String,
    /// The machine's load before each repetition, the median of it.
    pub(super) load: f64,
    measurements: Vec<Measurement>,
}

/// One page in one scenario, once.
struct Measurement {
    scenario: String,
    /// A session's size in events, `s30000` for one without chunks, or a rate, `1000x8`.
    argument: String,
    page: String,
    figures: Value,
}

/// # Errors
/// When the file cannot be read, or is not what the harness writes.
pub(super) fn read(path: &Path) -> Result<Results, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::file("read the results", path, source))?;
    parse(&text).map_err(|why| Error::Failed {
        what: format!("read the results in {}", path.display()),
        why,
    })
}

fn parse(text: &str) -> Result<Results, String> {
    let all: Value = serde_json::from_str(text).map_err(|why| why.to_string())?;
    let word = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let list = all["results"].as_array().ok_or("there is no `results`")?;
    let measurements: Vec<Measurement> = list
        .iter()
        .map(|it| Measurement {
            scenario: word(it, "scenario"),
            argument: word(it, "arg"),
            page: word(it, "page"),
            figures: it["r"].clone(),
        })
        .collect();
    let loads = list.iter().filter_map(|it| it["load"].as_f64()).collect();
    Ok(Results {
        started: word(&all, "started"),
        load: median(loads).unwrap_or_default(),
        measurements,
    })
}

impl Results {
    /// The median of a figure over the repetitions. `argument` may leave out a rate's seconds; `figure` is a path such
    /// as `main.cpu`.
    pub(super) fn median(
        &self,
        page: &str,
        scenario: &str,
        argument: &str,
        figure: &str,
    ) -> Option<f64> {
        let of_this = self.measurements.iter().filter(|it| {
            let rate = it.argument.split('x').next().unwrap_or_default();
            it.page == page
                && it.scenario == scenario
                && (it.argument == argument || rate == argument)
        });
        let figures = of_this.filter_map(|it| at(&it.figures, figure)).collect();
        median(figures)
    }

    /// The largest of a figure over the repetitions and over whatever argument.
    pub(super) fn largest(&self, page: &str, scenario: &str, figure: &str) -> Option<f64> {
        let of_this = self
            .measurements
            .iter()
            .filter(|it| it.page == page && it.scenario == scenario);
        of_this
            .filter_map(|it| at(&it.figures, figure))
            .reduce(f64::max)
    }

    /// What the machine itself did: `calibrate` measures no page.
    pub(super) fn of_machine(&self, figure: &str) -> Option<f64> {
        self.median("", "calibrate", "", figure)
    }

    /// Every page in every scenario, with the medians of all figures: page, scenario, argument, figures.
    pub(super) fn all(&self) -> Vec<Value> {
        let mut keys: Vec<(&str, &str, &str)> = Vec::new();
        for it in &self.measurements {
            let key = (it.scenario.as_str(), it.argument.as_str(), it.page.as_str());
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let medians = |(scenario, argument, page): (&str, &str, &str)| {
            let of_this: Vec<&Measurement> = self
                .measurements
                .iter()
                .filter(|it| {
                    (it.scenario == scenario) && it.argument == argument && it.page == page
                })
                .collect();
            let mut figures = serde_json::Map::new();
            for name in of_this.iter().flat_map(|it| names(&it.figures)) {
                let each = of_this.iter().filter_map(|it| at(&it.figures, &name));
                if let Some(median) = median(each.collect()) {
                    figures.insert(name, median.into());
                }
            }
            serde_json::json!({
                "scenario": scenario, "argument": argument, "page": page, "n": of_this.len(), "medians": figures,
            })
        };
        keys.into_iter().map(medians).collect()
    }
}

/// A number behind a path of names.
fn at(figures: &Value, path: &str) -> Option<f64> {
    path.split('.')
        .try_fold(figures, |value, name| value.get(name))?
        .as_f64()
}

/// The paths of all numbers.
fn names(figures: &Value) -> Vec<String> {
    let Some(fields) = figures.as_object() else {
        return Vec::new();
    };
    let paths = |(name, value): (&String, &Value)| match value {
        Value::Number(_) => vec![name.clone()],
        _ => names(value)
            .into_iter()
            .map(|below| format!("{name}.{below}"))
            .collect(),
    };
    fields.iter().flat_map(paths).collect()
}

fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Results of `(scenario, argument, page, figures)`.
    pub(in crate::bench) fn of(list: &[(&str, &str, &str, Value)]) -> Results {
        let results: Vec<Value> = list
            .iter()
            .map(|(scenario, argument, page, figures)| {
                serde_json::json!({"scenario": scenario, "arg": argument, "page": page, "load": 0.5, "r": figures})
            })
            .collect();
        let all = serde_json::json!({"started": "2026-01-02T03:04:05.678Z", "results": results});
        parse(&all.to_string()).expect("this is what the harness writes")
    }

    #[test]
    fn medians_are_taken_over_the_repetitions_of_one_page() {
        let cpu = |cpu: f64| serde_json::json!({"main": {"cpu": cpu}, "state": "ready"});
        let results = of(&[
            ("replay", "1000", "ours", cpu(3.0)),
            ("replay", "1000", "ours", cpu(1.0)),
            ("replay", "1000", "ours", cpu(2.0)),
            ("replay", "1000", "other", cpu(9.0)),
            ("live", "200x8", "ours", cpu(5.0)),
        ]);
        let median =
            |page, scenario, argument| results.median(page, scenario, argument, "main.cpu");
        assert_eq!(median("ours", "replay", "1000"), Some(2.0));
        assert_eq!(
            median("ours", "live", "200"),
            Some(5.0),
            "whatever its seconds"
        );
        assert_eq!(median("none", "live", "200"), None);
        assert_eq!(results.largest("ours", "replay", "main.cpu"), Some(3.0));
        assert_eq!(results.all().len(), 3);
        assert_eq!(results.all()[0]["medians"]["main.cpu"], 2.0);
    }

    #[test]
    fn what_is_no_result_is_refused() {
        assert!(parse("{}").is_err());
        assert!(parse("").is_err());
    }
}
