//! Saying where the page is.

use std::io::Write;
use std::path::Path;

use crate::data_dir::{self, ServerFile};
use crate::watch;

/// The folder is served already: that is where to look.
pub(super) fn lead_to(server: &ServerFile, dir: &Path, opens: bool) -> Result<(), String> {
    let page = page_at(&server.url, &data_dir::token(dir)?);
    let mut said = format!(
        "turnreel is serving {} already\n\n  {page}\n",
        dir.display()
    );
    if !server.watches {
        said.push_str(
            "\nThat server does not look for agents' sessions: stop it, and start `turnreel` in its place.\n",
        );
    }
    print(&said)?;
    // The browser asks us for the way.
    if opens && let Some(opening) = watch::open_page(&page) {
        let _ = opening.join();
    }
    Ok(())
}

/// The token goes in the fragment, which browsers send nowhere.
pub(super) fn page_at(url: &str, token: &str) -> String {
    format!("{url}/#token={token}")
}

/// Says where the page is: to those who come by the public address there, and to who is at this machine.
pub(super) fn announce(
    url: &str,
    public_url: Option<&str>,
    token: &str,
    ready_json: bool,
    dir: &Path,
    report: Option<&str>,
) -> Result<(), String> {
    if ready_json {
        return print(&format!(
            "{}\n",
            serde_json::json!({"url": url, "token": token})
        ));
    }
    let public = public_url.map(|url| format!("  {}\n", page_at(url, token)));
    let public = public.unwrap_or_default();
    let report = report.map_or_else(String::new, |report| format!("\n{report}"));
    print(&format!(
        "turnreel is serving {}\n{report}\n{public}  {}\n\nPress ctrl-c to stop.\n",
        dir.display(),
        page_at(url, token)
    ))
}

fn print(text: &str) -> Result<(), String> {
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|why| format!("could not print the address: {why}"))
}
