//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::{pipe, serve, token_command};

/// A live activity feed and session replay for coding agents.
#[derive(Debug, Parser)]
#[command(name = "turnreel", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the page, and keep and publish what agents do.
    ///
    /// Prints the address with its token. Only this machine can reach it.
    Serve(serve::Args),
    /// Pass an agent's output through, and send it to the server on the way.
    ///
    /// What comes in goes out unchanged and at once. Where the server is away, events wait in the data folder and are sent
    /// later.
    #[command(
        after_help = "Example:\n  claude -p \"…\" --output-format stream-json --verbose --include-partial-messages | turnreel pipe --prompt \"…\""
    )]
    Pipe(pipe::Args),
    /// Make, list and revoke tokens that open the server, for what they say and no more.
    #[command(subcommand)]
    Token(token_command::Command),
}

/// Runs the program's command.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Some(Command::Serve(args)) => serve::command(args),
        Some(Command::Pipe(args)) => pipe::command(args),
        Some(Command::Token(command)) => token_command::command(command),
        None => {
            let printed = Cli::command().print_long_help();
            ExitCode::from(u8::from(printed.is_err()))
        }
    }
}

/// The data folder that all commands share.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DataArg {
    /// Keep sessions in this folder [default: $XDG_DATA_HOME/turnreel, else the platform's].
    #[arg(long, value_name = "DIR", env = "TURNREEL_DATA")]
    pub(crate) data: Option<PathBuf>,
}
