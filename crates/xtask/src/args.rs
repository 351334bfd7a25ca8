//! Reads the command line into an [`Action`]. Nothing is done here.

mod help;

use std::path::PathBuf;

use crate::error::Error;
use help::{
    HELP, HELP_BENCH, HELP_CALLS, HELP_DIST, HELP_PAGE_HOOK, HELP_START, HELP_TEST, HELP_TOOLS,
};

/// Port taken when none is asked for: free of well-known services, so that the address stays the same from day to day.
const DEFAULT_PORT: u16 = 7473;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Help(&'static str),
    Start(StartOptions),
    Dist,
    Calls {
        /// A folder with more logs to show.
        logs: Option<PathBuf>,
    },
    Bench(BenchOptions),
    PageHook,
    Test(TestOptions),
    Tools,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StartOptions {
    pub(crate) port: u16,
    pub(crate) data_dir: Option<PathBuf>,
    pub(crate) open: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestOptions {
    pub(crate) full: bool,
    pub(crate) filters: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BenchOptions {
    /// The server is measured, and no page.
    pub(crate) server: bool,
    pub(crate) quick: bool,
    pub(crate) all: bool,
    /// Repetitions.
    pub(crate) reps: u32,
}

/// Reads what stands behind the command's name.
type ParseRest = fn(&[String]) -> Result<Action, Error>;

/// # Errors
/// [`Error::Usage`] names the argument that was not understood.
pub(crate) fn parse(arguments: &[String]) -> Result<Action, Error> {
    let Some((command, rest)) = arguments.split_first() else {
        return Ok(Action::Help(HELP));
    };
    let asks_for_help = rest
        .iter()
        .take_while(|it| *it != "--")
        .any(|it| it == "--help" || it == "-h");
    let (help, parse_rest): (_, ParseRest) = match command.as_str() {
        "help" | "--help" | "-h" => return Ok(Action::Help(HELP)),
        "start" => (HELP_START, parse_start),
        "test" => (HELP_TEST, parse_test),
        "dist" => (HELP_DIST, |rest| takes_nothing(rest, Action::Dist)),
        "calls" => (HELP_CALLS, parse_calls),
        "bench" => (HELP_BENCH, parse_bench),
        "tools" => (HELP_TOOLS, |rest| takes_nothing(rest, Action::Tools)),
        "page-hook" => (HELP_PAGE_HOOK, |rest| takes_nothing(rest, Action::PageHook)),
        other => return Err(Error::Usage(format!("there is no command `{other}`"))),
    };
    if asks_for_help {
        Ok(Action::Help(help))
    } else {
        parse_rest(rest)
    }
}

fn parse_start(rest: &[String]) -> Result<Action, Error> {
    let mut options = StartOptions {
        port: DEFAULT_PORT,
        data_dir: None,
        open: true,
    };
    let mut rest = rest.iter();
    while let Some(argument) = rest.next() {
        let (name, inline_value) = split_value(argument);
        match name {
            "--port" => {
                let value = value_of(name, inline_value, &mut rest)?;
                options.port = value.parse().map_err(|_| {
                    Error::Usage(format!(
                        "--port takes a number from 0 to 65535, not `{value}`"
                    ))
                })?;
            }
            "--data" => {
                options.data_dir = Some(PathBuf::from(value_of(name, inline_value, &mut rest)?))
            }
            "--no-open" if inline_value.is_none() => options.open = false,
            _ => return Err(unknown(argument)),
        }
    }
    Ok(Action::Start(options))
}

fn parse_calls(rest: &[String]) -> Result<Action, Error> {
    let mut logs = None;
    let mut rest = rest.iter();
    while let Some(argument) = rest.next() {
        let (name, inline_value) = split_value(argument);
        match name {
            "--logs" => logs = Some(PathBuf::from(value_of(name, inline_value, &mut rest)?)),
            _ => return Err(unknown(argument)),
        }
    }
    Ok(Action::Calls { logs })
}

fn parse_test(rest: &[String]) -> Result<Action, Error> {
    let mut options = TestOptions::default();
    for argument in rest {
        match argument.as_str() {
            "--full" => options.full = true,
            flag if flag.starts_with('-') => return Err(unknown(flag)),
            filter => options.filters.push(filter.to_owned()),
        }
    }
    Ok(Action::Test(options))
}

fn parse_bench(rest: &[String]) -> Result<Action, Error> {
    let (mut server, mut quick, mut all, mut reps) = (false, false, false, None);
    let mut rest = rest.iter();
    while let Some(argument) = rest.next() {
        let (name, inline_value) = split_value(argument);
        match name {
            "--server" if inline_value.is_none() => server = true,
            "--quick" if inline_value.is_none() => quick = true,
            "--all" if inline_value.is_none() => all = true,
            "--reps" => {
                let value = value_of(name, inline_value, &mut rest)?;
                let number = value.parse().ok().filter(|reps| (1..=99).contains(reps));
                reps = Some(number.ok_or_else(|| {
                    Error::Usage(format!("--reps takes a number from 1 to 99, not `{value}`"))
                })?);
            }
            _ => return Err(unknown(argument)),
        }
    }
    if server && (quick || all || reps.is_some()) {
        return Err(Error::Usage("--server stands alone".to_owned()));
    }
    let reps = reps.unwrap_or(if quick { 1 } else { 3 });
    Ok(Action::Bench(BenchOptions {
        server,
        quick,
        all,
        reps,
    }))
}

fn takes_nothing(rest: &[String], action: Action) -> Result<Action, Error> {
    match rest.first() {
        None => Ok(action),
        Some(argument) => Err(unknown(argument)),
    }
}

/// Splits `--name=value`.
fn split_value(argument: &str) -> (&str, Option<&str>) {
    match argument.split_once('=') {
        Some((name, value)) if name.starts_with("--") => (name, Some(value)),
        _ => (argument, None),
    }
}

fn value_of<'a>(
    name: &str,
    inline_value: Option<&'a str>,
    rest: &mut impl Iterator<Item = &'a String>,
) -> Result<&'a str, Error> {
    inline_value
        .or_else(|| rest.next().map(String::as_str))
        .filter(|value| !value.is_empty())
        .ok_or_else(|| Error::Usage(format!("{name} needs a value")))
}

fn unknown(argument: &str) -> Error {
    Error::Usage(format!("`{argument}` is not known here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Action, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn start_takes_its_options_in_both_spellings() {
        let expected = StartOptions {
            port: 9000,
            data_dir: Some(PathBuf::from("d")),
            open: false,
        };
        assert_eq!(
            parsed("start --port 9000 --data d --no-open"),
            Ok(Action::Start(expected))
        );
        let expected = StartOptions {
            port: 0,
            data_dir: Some(PathBuf::from("a=b")),
            open: true,
        };
        assert_eq!(
            parsed("start --port=0 --data=a=b"),
            Ok(Action::Start(expected))
        );
    }

    #[test]
    fn a_quick_bench_has_one_repetition_unless_it_is_told_otherwise() {
        let bench = |server, quick, all, reps| {
            Ok(Action::Bench(BenchOptions {
                server,
                quick,
                all,
                reps,
            }))
        };
        assert_eq!(parsed("bench"), bench(false, false, false, 3));
        assert_eq!(parsed("bench --quick"), bench(false, true, false, 1));
        assert_eq!(
            parsed("bench --all --quick --reps 2"),
            bench(false, true, true, 2)
        );
        assert!(parsed("bench --reps 0").is_err_and(|why| why.contains("--reps")));
        assert_eq!(parsed("bench --server"), bench(true, false, false, 3));
        assert!(parsed("bench --server --quick").is_err_and(|why| why.contains("alone")));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        assert!(parsed("start --port 70000").is_err_and(|why| why.contains("70000")));
        assert!(parsed("start --port").is_err_and(|why| why.contains("--port needs a value")));
        assert!(parsed("start --open").is_err_and(|why| why.contains("`--open`")));
        assert!(parsed("tset").is_err_and(|why| why.contains("`tset`")));
        assert!(parsed("dist now").is_err_and(|why| why.contains("`now`")));
    }

    #[test]
    fn each_command_explains_itself() {
        for command in ["start", "test", "dist", "bench", "tools", "page-hook"] {
            let Ok(Action::Help(text)) = parsed(&format!("{command} --help")) else {
                panic!("no help for {command}");
            };
            assert!(
                text.contains(&format!("Usage: cargo xtask {command}")),
                "{text}"
            );
        }
        assert_eq!(parsed(""), Ok(Action::Help(HELP)));
    }

    #[test]
    fn the_help_of_start_names_the_port_it_takes() {
        assert!(HELP_START.contains(&format!("[default: {DEFAULT_PORT}]")));
    }

    #[test]
    fn words_after_test_are_filters() {
        let expected = TestOptions {
            full: true,
            filters: vec!["resume".to_owned(), "tail".to_owned()],
        };
        assert_eq!(
            parsed("test resume --full tail"),
            Ok(Action::Test(expected))
        );
    }
}
