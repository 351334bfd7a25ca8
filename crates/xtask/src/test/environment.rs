//! What the tests find in their environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::browser::Browser;
use crate::error::Error;
use crate::servers::Servers;
use crate::tools::Tools;
use crate::{browser, workspace};

/// What tests find in their environment.
pub(super) struct Environment<'a> {
    pub(super) root: &'a Path,
    pub(super) servers: &'a Servers,
    /// The folder of axe-core.
    pub(super) axe: Option<PathBuf>,
    pub(super) tools: &'a Tools,
    pub(super) browser: &'a Browser,
    pub(super) program: &'a Path,
}

impl Environment<'_> {
    /// As variables.
    pub(super) fn settings(&self) -> Result<Vec<(&'static str, OsString)>, Error> {
        let browser =
            browser::write_webdriver_json(self.browser, &workspace::scratch_dir(self.root)?)?;
        let axe = self.axe.as_ref().map(|axe| axe.join("axe.min.js"));
        let mut settings = vec![
            ("PATH", workspace::path_with(&self.tools.bin_dirs)?),
            ("TURNREEL_BIN", self.program.into()),
            ("TURNREEL_CHROME", self.browser.chrome.clone().into()),
            ("CHROMEDRIVER", self.browser.driver.clone().into()),
            ("WASM_BINDGEN_TEST_WEBDRIVER_JSON", browser.into()),
            // The runner's own limit, 20 s, is short for a busy machine.
            ("WASM_BINDGEN_TEST_TIMEOUT", "300".into()),
        ];
        let found = [
            ("TURNREEL_AXE", axe),
            ("TURNREEL_POSTGRES_BIN", self.servers.postgres_bin.clone()),
            ("TURNREEL_MOTO", self.servers.moto.clone()),
        ];
        let found = found.into_iter();
        settings.extend(found.filter_map(|(name, path)| Some((name, path?.into()))));
        Ok(settings)
    }
}
