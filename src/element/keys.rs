//! The sheet of keys where no feed is there to show it.

use leptos::mount::mount_to;

use crate::components::help;
use crate::platform::dom::{self, Element};
use crate::platform::style::{self, sheet};

const ID: &str = "page-keys";

/// Shows it in the page itself; `root` is what the page stands in.
pub(crate) fn show_keys(root: &Element) {
    let dialog = dom::by_id(ID).unwrap_or_else(|| {
        let dialog = dom::create("dialog");
        let attributes = [
            ("id", ID),
            ("class", "help"),
            ("aria-labelledby", "help-title"),
        ];
        for (name, value) in attributes {
            dom::write_attribute(&dialog, name, value);
        }
        dom::insert_before(root, &dialog, None);
        style::adopt_in_page(sheet!("help"));
        let within = dialog.clone();
        mount_to(dom::as_html(&dialog), move || help::view(within)).forget();
        dialog
    });
    help::show(&dialog);
}
