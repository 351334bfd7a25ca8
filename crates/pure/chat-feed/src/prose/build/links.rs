//! Links with their labels: where one does not say where it leads, that stands behind it.

use super::Builder;
use super::texts::marked;
use crate::link::Target;
use crate::prose::nodes::Element;

/// Of an address that is not linked, so much is shown behind its label.
const ASIDE_CHARS: usize = 80;

pub(super) struct OpenLink {
    target: Target,
    pub(super) address: String,
    /// How many bytes of words there were when its label began.
    pub(super) from: usize,
    is_image: bool,
    linked: bool,
}

impl<'b> Builder<'b> {
    pub(super) fn start_link(&mut self, address: &str, is_image: bool) {
        let target = Target::of(address);
        // A link in a link is only its label.
        let linked = match &target {
            Target::Link(link) if self.links.is_empty() => {
                self.open(Element::Link(link.caution), &link.href);
                true
            }
            Target::Link(_) | Target::Path | Target::Text => false,
        };
        self.links.push(OpenLink {
            target,
            address: address.to_owned(),
            from: self.nodes.words().len(),
            is_image,
            linked,
        });
    }

    pub(super) fn end_link(&mut self) {
        let Some(open) = self.links.pop() else { return };
        let label = self.nodes.words()[open.from..].to_owned();
        if label.is_empty() {
            self.nodes
                .text_node(if open.is_image { "image" } else { "link" });
        }
        match &open.target {
            Target::Link(link) if link.is_shown_by(&label) => {}
            Target::Link(link) => self.aside(&link.host),
            Target::Path | Target::Text => {
                if !open.address.is_empty() && open.address != label {
                    let mut short: String = open.address.chars().take(ASIDE_CHARS).collect();
                    if short.len() < open.address.len() {
                        short.push('…');
                    }
                    self.aside(&short);
                }
            }
        }
        if open.linked {
            self.close();
        }
    }

    pub(super) fn aside(&mut self, text: &str) {
        self.nodes.open(Element::Aside);
        marked(&mut self.nodes, &format!(" ({text})"));
        self.nodes.close();
    }
}
