//! Finds Chromium and its driver for the browser tests, and installs them where that is this machine's habit.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::{apt, command, report, workspace};

const CHROME_NAMES: [&str; 6] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "chrome-browser",
];
const CHROME_PLACES: [&str; 3] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/opt/google/chrome/chrome",
];
const DRIVER_PLACES: [&str; 3] = [
    "/usr/lib/chromium/chromedriver",
    "/usr/lib/chromium-browser/chromedriver",
    "/snap/bin/chromium.chromedriver",
];
const APT_PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

pub(crate) struct Browser {
    pub(crate) chrome: PathBuf,
    pub(crate) driver: PathBuf,
}

/// # Errors
/// When there is no Chromium or no driver for it, and apt is not ours to call.
pub(crate) fn ensure() -> Result<Browser, Error> {
    if let Some(browser) = find() {
        warn_of_different_versions(&browser);
        return Ok(browser);
    }
    if apt::is_ours() {
        apt::install(&APT_PACKAGES, "about 100 MB")?;
    }
    find().ok_or_else(|| Error::Missing {
        what: match find_chrome() {
            Some(chrome) => format!("chromedriver, which must be of the version of {}", chrome.display()),
            None => "Chromium or Chrome, in which the browser tests run".to_owned(),
        },
        remedy: "Install both (Debian: apt-get install chromium chromium-driver; macOS: brew install --cask \
                 chromium chromedriver), or name them by the variables CHROME and CHROMEDRIVER"
            .to_owned(),
    })
}

pub(crate) fn find_chrome() -> Option<PathBuf> {
    from_environment(&["CHROME", "TURNREEL_CHROME"])
        .or_else(|| first_of(&CHROME_NAMES, &CHROME_PLACES))
}

pub(crate) fn find_driver() -> Option<PathBuf> {
    from_environment(&["CHROMEDRIVER"]).or_else(|| first_of(&["chromedriver"], &DRIVER_PLACES))
}

/// A program's path and what it says of its version.
pub(crate) fn described(program: &Path) -> String {
    let version = command::output(command::new(program).arg("--version")).unwrap_or_default();
    format!("{} ({})", program.display(), version.trim())
}

/// Capabilities for wasm-bindgen's test runner, as a file; returned is its path.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write_webdriver_json(browser: &Browser, folder: &Path) -> Result<PathBuf, Error> {
    let path = folder.join("webdriver.json");
    // Chromium's sandbox refuses to run as root, where tests often run; what they load is our own page.
    let text = format!(
        r#"{{ "goog:chromeOptions": {{ "binary": {}, "args": [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"
] }} }}
"#,
        json_string(&browser.chrome.to_string_lossy())
    );
    std::fs::write(&path, text)
        .map_err(|source| Error::file("write the browser's settings", &path, source))?;
    Ok(path)
}

fn json_string(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

fn find() -> Option<Browser> {
    Some(Browser {
        chrome: find_chrome()?,
        driver: find_driver()?,
    })
}

fn from_environment(names: &[&str]) -> Option<PathBuf> {
    names
        .iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from)
        .find(|file| file.is_file())
}

fn first_of(names: &[&str], places: &[&str]) -> Option<PathBuf> {
    let on_path = names.iter().find_map(|name| workspace::on_path(name));
    on_path.or_else(|| places.iter().map(PathBuf::from).find(|file| file.is_file()))
}

/// The driver refuses browsers of another major version, in words that do not help.
fn warn_of_different_versions(browser: &Browser) {
    let major = |program: &Path| {
        let text = command::output(command::new(program).arg("--version")).ok()?;
        let version = text
            .split_whitespace()
            .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
        version.split('.').next().map(str::to_owned)
    };
    let (of_chrome, of_driver) = (major(&browser.chrome), major(&browser.driver));
    if of_chrome.is_some() && of_driver.is_some() && of_chrome != of_driver {
        report::say(&format!(
            "Warning: versions differ, the browser may not start: {}, {}",
            described(&browser.chrome),
            described(&browser.driver)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_json_string() {
        assert_eq!(json_string(r#"C:\a "b""#), r#""C:\\a \"b\"""#);
        assert_eq!(json_string("a\nb"), r#""a\u000ab""#);
    }
}
