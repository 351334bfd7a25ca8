//! What sessions, projects and agents are called.

/// So much of a made id tells it from others.
const SHORT_ID: usize = 8;
/// No number that people write is as long: a date with a time has fourteen digits, but that is made, too.
const LONG_NUMBER: usize = 12;

/// A folder's last name: what a project is called.
pub fn folder_of(cwd: &str) -> Option<&str> {
    cwd.rsplit(['/', '\\']).find(|part| !part.is_empty())
}

/// What a session is called, everywhere: by its title, else by the folder it works in, else by its id. An id that a program
/// made says nothing: its agent and when it began stand for it, a time that `told` writes as the reader reads it.
pub fn called(
    title: Option<&str>,
    cwd: Option<&str>,
    id: &str,
    (agent, at_ms): (Option<&str>, Option<i64>),
    told: &dyn Fn(i64) -> String,
) -> String {
    let title = title.map(str::trim).filter(|title| !title.is_empty());
    match (title, cwd.and_then(folder_of)) {
        (Some(title), _) => return title.to_owned(),
        (None, Some(folder)) => return format!("Session in {folder}"),
        (None, None) if !is_made(id) => return id.to_owned(),
        (None, None) => {}
    }
    let what = match agent {
        Some(agent) => format!("{agent} session"),
        None => "Session".to_owned(),
    };
    match at_ms {
        Some(at_ms) => format!("{what} of {}", told(at_ms)),
        None => format!("{what} {}", id.chars().take(SHORT_ID).collect::<String>()),
    }
}

/// Whether a program made an id, and nobody chose it: a part of it is long and of letters and digits, or of digits only.
fn is_made(id: &str) -> bool {
    id.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
        let n_digits = part.bytes().filter(u8::is_ascii_digit).count();
        let is_mixed = n_digits >= 2 && n_digits < part.len();
        (is_mixed && part.len() >= SHORT_ID) || n_digits >= LONG_NUMBER
    })
}

/// An agent's name without its version.
pub fn agent_name(agent: &str) -> &str {
    let agent = agent.trim();
    match agent.rsplit_once(' ') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => name,
        _ => agent,
    }
}
