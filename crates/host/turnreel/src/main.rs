//! The program `turnreel`.

use std::process::ExitCode;

fn main() -> ExitCode {
    turnreel::main()
}
