//! Ids of events, with those that count up said in one: `"e7"`, or `["e", 7, 31]` for `e7`, `e8` … `e31`.

use serde_json::{Value, json};

use crate::json::Json;

/// Ids that follow each other in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct IdRuns(Vec<IdRun>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct IdRun {
    beginning: String,
    /// The numbers behind it, from the first up to the last; `None` where the beginning is all.
    numbers: Option<(u64, u64)>,
}

impl IdRuns {
    pub(super) fn push(&mut self, id: &str) {
        let run = IdRun::of(id);
        if let Some(last) = self.0.last_mut()
            && last.beginning == run.beginning
            && let (Some((_, last)), Some((number, _))) = (&mut last.numbers, run.numbers)
            && last.checked_add(1) == Some(number)
        {
            *last = number;
            return;
        }
        self.0.push(run);
    }

    pub(super) fn to_json(&self) -> Json {
        let runs = self.0.iter().map(|run| match run.numbers {
            None => Value::String(run.beginning.clone()),
            Some((first, last)) if first == last => {
                Value::String(format!("{}{first}", run.beginning))
            }
            Some((first, last)) => json!([run.beginning, first, last]),
        });
        Json::from(Value::Array(runs.collect()))
    }

    /// Reads as many ids as there must be. `None` where they are more or less, however many they say they are.
    pub(super) fn read(json: &Json, n_ids: usize) -> Option<IdRuns> {
        let mut runs = Vec::new();
        let mut left = n_ids as u64;
        for run in json.parse::<Vec<Value>>()? {
            let run = match run {
                Value::String(id) => IdRun {
                    beginning: id,
                    numbers: None,
                },
                Value::Array(parts) => {
                    let [beginning, first, last] = parts.as_slice() else {
                        return None;
                    };
                    IdRun {
                        beginning: beginning.as_str()?.to_owned(),
                        numbers: Some((first.as_u64()?, last.as_u64()?)),
                    }
                }
                _ => return None,
            };
            left = left.checked_sub(run.len()?)?;
            runs.push(run);
        }
        (left == 0).then_some(IdRuns(runs))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = String> {
        self.0.iter().flat_map(|run| {
            let (first, last) = run.numbers.unwrap_or_default();
            (first..=last).map(|number| match run.numbers {
                Some(_) => format!("{}{number}", run.beginning),
                None => run.beginning.clone(),
            })
        })
    }

    /// Where the id stands among them.
    pub(super) fn position(&self, id: &str) -> Option<u64> {
        let wanted = IdRun::of(id);
        let mut before = 0;
        for run in &self.0 {
            match (run.numbers, wanted.numbers) {
                (Some((first, last)), Some((number, _)))
                    if run.beginning == wanted.beginning && (first..=last).contains(&number) =>
                {
                    return Some(before + (number - first));
                }
                (None, _) if run.beginning == id => return Some(before),
                _ => {}
            }
            before += run.len()?;
        }
        None
    }
}

impl IdRun {
    /// An id as a beginning and the number it ends with, where writing that number gives the same digits.
    fn of(id: &str) -> IdRun {
        // Longer numbers may be no number of ours.
        const MOST_DIGITS: usize = 18;
        let n_digits = id.bytes().rev().take_while(u8::is_ascii_digit).count();
        let mut digits = &id[id.len() - n_digits.min(MOST_DIGITS)..];
        while digits.len() > 1 && digits.starts_with('0') {
            digits = &digits[1..];
        }
        match digits.parse() {
            Ok(number) => IdRun {
                beginning: id[..id.len() - digits.len()].to_owned(),
                numbers: Some((number, number)),
            },
            Err(_) => IdRun {
                beginning: id.to_owned(),
                numbers: None,
            },
        }
    }

    fn len(&self) -> Option<u64> {
        match self.numbers {
            None => Some(1),
            Some((first, last)) => last.checked_sub(first)?.checked_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(ids: &[&str]) -> IdRuns {
        let mut runs = IdRuns::default();
        ids.iter().for_each(|id| runs.push(id));
        runs
    }

    #[test]
    fn ids_that_count_up_are_said_in_one() {
        let ids = ["m:9", "m:10", "m:11", "x", "a01", "a02", "a", "a7", "a9"];
        let runs = runs(&ids);
        let json = runs.to_json();
        assert_eq!(
            json.as_text(),
            r#"[["m:",9,11],"x",["a0",1,2],"a","a7","a9"]"#
        );
        let read = IdRuns::read(&json, ids.len()).unwrap();
        assert_eq!(read.iter().collect::<Vec<_>>(), ids);
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(read.position(id), Some(at as u64), "{id}");
        }
        for id in ["m:8", "m:12", "a03", "a8", "m:09", ""] {
            assert_eq!(read.position(id), None, "{id}");
        }
    }

    #[test]
    fn a_few_bytes_do_not_stand_for_many_ids() {
        for text in [
            r#"[["e",0,18446744073709551615]]"#,
            r#"[["e",0,99],["e",0,18446744073709551614]]"#,
            r#"[["e",5,4]]"#,
            r#"["a","b","c","d"]"#,
            r#"[7]"#,
            r#"[["e",1]]"#,
            r#"{}"#,
        ] {
            let json: Json = serde_json::from_str(text).unwrap();
            assert_eq!(IdRuns::read(&json, 3), None, "{text}");
        }
    }
}
