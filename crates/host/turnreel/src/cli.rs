//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chat_normalize::{Dialect, NotASession};
use clap::builder::Resettable;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::convert::shown;
use crate::{
    compact, config, convert, export, hook, list_command, pipe, remove_command, restore, serve,
    stderr, token_command, trace, watch,
};

/// A live activity feed and session replay for coding agents.
///
/// Without a command it finds the sessions of agents on this machine, follows them and opens the page, as `turnreel watch`.
#[derive(Debug, Parser)]
#[command(name = "turnreel", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find the sessions that agents keep on this machine, follow them, and open the page: what `turnreel` does by itself.
    ///
    /// Sessions of Claude Code, Codex, OpenCode, Gemini CLI, Pi, Qwen Code, Droid, Grok Build, Kimi Code, Mistral Vibe, Copilot CLI, OpenHands, Crush, Goose, Cline, Roo
    /// Code and Kilo Code are read where these keep them, and nothing is written there. It serves as `turnreel serve` does, with the same options.
    #[command(
        after_help = "Where it looks: ~/.claude/projects (or below CLAUDE_CONFIG_DIR), ~/.codex/sessions (or below CODEX_HOME), ~/.local/share/opencode and ~/.local/share/kilo (or below XDG_DATA_HOME, or where OPENCODE_DB and KILO_DB say), ~/.gemini/tmp (or in that folder below GEMINI_CLI_HOME), ~/.pi/agent/sessions (or below PI_CODING_AGENT_DIR), ~/.qwen/projects and ~/.qwen/tmp (or below QWEN_RUNTIME_DIR, else QWEN_HOME), ~/.factory/sessions (or in that folder below FACTORY_HOME_OVERRIDE), ~/.grok/sessions (or below GROK_HOME), ~/.kimi-code/sessions (or below KIMI_CODE_HOME), ~/.copilot/session-state (or below COPILOT_HOME), ~/.vibe/logs/session/unified (or in logs/session/unified below VIBE_HOME), ~/.openhands/conversations (or OPENHANDS_CONVERSATIONS_DIR, or below OPENHANDS_PERSISTENCE_DIR), ~/.local/share/goose/sessions (or below XDG_DATA_HOME, or in data/sessions below GOOSE_PATH_ROOT), the projects listed in ~/.local/share/crush (or below XDG_DATA_HOME, or in CRUSH_GLOBAL_DATA), ~/.cline/data/sessions and tasks (or below CLINE_DATA_DIR, else in data below CLINE_DIR), ~/.vscode-mock/global-storage/tasks, ~/.kilocode/cli/global/tasks, and User/globalStorage of editors and their servers: ~/.config/Code (or below XDG_CONFIG_HOME), ~/.vscode-server/data and the like."
    )]
    Watch(Box<watch::Args>),
    /// Serve the page, and keep and publish what agents do.
    ///
    /// Prints the address with its token. Only this machine can reach it, unless --listen says otherwise.
    #[command(
        after_help = "Options can stand in turnreel.toml in the data folder under their names, but for --data, --config and --ready-json; those whose variable is named above also in the environment. Options count before the environment, and that before the file; `turnreel config` tells what counts."
    )]
    Serve(Box<serve::Args>),
    /// Tell how the server would be set up, and where each setting is from.
    Config(Box<watch::Args>),
    /// Pass an agent's output through, and send it to the server on the way.
    ///
    /// What comes in goes out unchanged and at once. Where the server is away, events wait in the data folder and are sent
    /// later.
    #[command(
        after_help = "Example:\n  claude -p \"…\" --output-format stream-json --verbose \\\n    --include-partial-messages | turnreel pipe --prompt \"…\""
    )]
    Pipe(pipe::Args),
    /// Ask on the page what Claude Code asks: as the command of its hook PermissionRequest.
    ///
    /// Waits for the answer and tells it to the agent. Where no server runs it says nothing, and the agent asks where it
    /// runs.
    #[command(
        after_help = "In ~/.claude/settings.json:\n  {\"hooks\": {\"PermissionRequest\": [{\"hooks\": [\n    {\"type\": \"command\", \"command\": \"turnreel hook\", \"timeout\": 3600}\n  ]}]}}"
    )]
    Hook(hook::Args),
    /// List the sessions of the data folder, the newest first: id, state, how long ago, events, agent, title.
    ///
    /// The other commands take these ids, or how they begin. It only reads, also while a server keeps the folder.
    List(list_command::Args),
    /// Tell what agents do, line by line.
    ///
    /// What they are doing goes to standard error, their answers to standard output. Reads sessions where they lie, also
    /// while the server keeps them, and changes nothing. Ends with 0 where all was read, 1 where something could not be, 2
    /// where nothing was.
    #[command(
        after_help = "Examples:\n  turnreel trace --follow ~/.claude/projects/…/*.jsonl\n  claude -p \"…\" --output-format stream-json --verbose | turnreel trace -"
    )]
    Trace(trace::Args),
    /// Convert session files of any format to events, messages, Markdown …
    ///
    /// Folders are read with all session files below them, in the order of their paths. Several sessions go to standard output
    /// one after the other: JSON as it is, text below a line with the file's name; with -o each into a file of its own. Ends
    /// with 0 where all was read, 1 where something could not be, 2 where nothing was.
    #[command(
        after_help = "Examples:\n  turnreel convert --to markdown session.jsonl -o session.md\n  turnreel convert --to events ~/.codex/sessions -o events/"
    )]
    Convert(convert::Args),
    /// Make the log of a session that has ended shorter: what came piece by piece is kept in one line, with its pace.
    ///
    /// It shows and plays as it did, to the millisecond; links and numbers go on. The log is replaced when all of the new
    /// one was read back and compared. A server that holds the data folder must be stopped first.
    #[command(
        after_help = "Examples:\n  turnreel compact SESSION\n  turnreel compact session.jsonl -o shorter.jsonl"
    )]
    Compact(compact::Args),
    /// Remove sessions for good: their logs and all beside them, their copies in stores of others, and the long bodies that no
    /// other session names.
    ///
    /// Where a server holds the data folder it is the one that removes them, and tells those who follow. What their agents
    /// keep themselves stays, and is not read again. A long body that came within the last hour goes when that is over: an event
    /// that names it may be on its way. Ends with 0 where all went, 1 where not.
    #[command(
        after_help = "Examples:\n  turnreel remove SESSION\n  turnreel remove --older-than 30d --dry-run\n  turnreel remove --older-than 30d --yes"
    )]
    Remove(remove_command::Args),
    /// Bring sessions back from the object store into the data folder, or tell which it has that the folder has not.
    ///
    /// They come with the long bodies that stand beside their logs, and are read back and compared on their way. A server
    /// that holds the data folder fetches a session by itself when somebody asks for it, and must be stopped first to bring
    /// back others. Ends with 0 where all that was asked for is here, 1 where not.
    #[command(
        after_help = "Examples:\n  turnreel restore --s3 s3://BUCKET/PREFIX\n  turnreel restore SESSION\n  turnreel restore --all"
    )]
    Restore(restore::Args),
    /// Write a session into one file for others: a page that plays it offline, its events, or a transcript.
    ///
    /// Secrets, home folders, e-mail and IP addresses are masked, and what was masked is told. Ends with 0 where all was
    /// read, 1 where something could not be, 2 where nothing was.
    #[command(
        after_help = "Examples:\n  turnreel export ~/.claude/projects/…/session.jsonl -o session.html\n  turnreel export SESSION --to markdown --no-mask"
    )]
    Export(export::Args),
    /// Create, list and revoke tokens that open the server, for what they say and no more, and rotate the server's own.
    #[command(subcommand)]
    Token(token_command::Command),
}

/// Runs the program's command.
pub fn main() -> ExitCode {
    // What stands for one start of the server is nothing to be told of.
    let mut program = Cli::command().mut_subcommand("config", |config| {
        config.mut_arg("ready_json", |arg| arg.hide(true))
    });
    for reads in ["pipe", "trace", "convert", "export"] {
        program = program.mut_subcommand(reads, |reads| reads.mut_arg("from", with_formats));
    }
    let program = without_empty_variables(program);
    let args = with_command(std::env::args_os().collect());
    if let Some(hint) = hint_at_file(&program, &args) {
        stderr::tell(format_args!("turnreel: {hint}"));
        return ExitCode::from(2);
    }
    let read = config::read(&program, args);
    let given = match read {
        Ok(given) => given,
        Err(why) => {
            stderr::tell(format_args!("turnreel: {why}"));
            return ExitCode::from(2);
        }
    };
    let cli = match Cli::from_arg_matches(&given.matches) {
        Ok(cli) => cli,
        Err(why) => why.exit(),
    };
    match cli.command {
        Some(Command::Watch(args)) => watch::command(*args),
        Some(Command::Serve(args)) => serve::command(*args),
        Some(Command::Config(_)) => config::command(&program, &given),
        Some(Command::Pipe(args)) => pipe::command(args),
        Some(Command::Hook(args)) => hook::command(args),
        Some(Command::List(args)) => list_command::command(args),
        Some(Command::Trace(args)) => trace::command(args),
        Some(Command::Convert(args)) => convert::command(args),
        Some(Command::Compact(args)) => compact::command(args),
        Some(Command::Remove(args)) => remove_command::command(args),
        Some(Command::Restore(args)) => restore::command(args),
        Some(Command::Export(args)) => export::command(args),
        Some(Command::Token(command)) => token_command::command(command),
        None => {
            let printed = program.clone().print_long_help();
            ExitCode::from(u8::from(printed.is_err()))
        }
    }
}

/// A variable that is empty is none, as those of composed files that nobody filled in.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |arg: &clap::Arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        value.is_some_and(|value| value.is_empty())
    };
    command
        .mut_args(|arg| match is_empty(&arg) {
            true => arg.env(Resettable::Reset),
            false => arg,
        })
        .mut_subcommands(without_empty_variables)
}

/// What to say where a file stands in the place of a command.
fn hint_at_file(program: &clap::Command, args: &[OsString]) -> Option<String> {
    let first = args.get(1)?;
    let is_command = first.to_str().is_some_and(|first| {
        let mut commands = program.get_subcommands();
        first == "help" || commands.any(|command| command.get_name() == first)
    });
    let path = Path::new(first);
    if is_command || !path.is_file() {
        return None;
    }
    let name = shown(path);
    Some(format!(
        "{name} is a file, and no command: `turnreel trace {name}` tells what happens in it, `turnreel export {name} -o session.html` makes a page of it"
    ))
}

/// The option that names a format, with all there are for who asks for help.
fn with_formats(from: clap::Arg) -> clap::Arg {
    let help = from.get_help().map(ToString::to_string);
    let help = help.unwrap_or_default();
    let words: Vec<_> = Dialect::all().map(Dialect::word).collect();
    from.long_help(format!(
        "{help}\n\nOne of: {}. That is {}.",
        words.join(", "),
        NotASession::formats()
    ))
}

/// The arguments with the command that is meant where none is named: `turnreel --no-open` is `turnreel watch --no-open`.
fn with_command(mut args: Vec<OsString>) -> Vec<OsString> {
    let of_program = ["-h", "--help", "-V", "--version"];
    let is_bare = match args.get(1).map(|arg| arg.to_string_lossy()) {
        None => true,
        Some(arg) => arg.starts_with('-') && !of_program.contains(&&*arg),
    };
    if is_bare {
        args.insert(1.min(args.len()), "watch".into());
    }
    args
}

/// The data folder that all commands share.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DataArg {
    /// The data folder, in which sessions are kept [default: $XDG_DATA_HOME/turnreel, else the platform's].
    #[arg(long, value_name = "DIR", env = "TURNREEL_DATA")]
    pub(crate) data: Option<PathBuf>,
}
