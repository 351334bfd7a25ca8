//! What kinds of thing a block is to somebody who looks for it: the chips of the find bar, and the words behind `is:`.

use crate::block::{BlockBody, BlockId};
use crate::feed::Feed;
use crate::tool::{ToolKind, ToolStatus};

/// A set of kinds; a block may be of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u32);

/// One chip of the find bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// What it says.
    pub label: &'static str,
    /// What it lets through.
    pub kinds: Kinds,
}

impl Kinds {
    const PROMPT: Kinds = Kinds(1);
    const ANSWER: Kinds = Kinds(1 << 1);
    const THINKING: Kinds = Kinds(1 << 2);
    const EDIT: Kinds = Kinds(1 << 3);
    const COMMAND: Kinds = Kinds(1 << 4);
    const READ: Kinds = Kinds(1 << 5);
    const SEARCH: Kinds = Kinds(1 << 6);
    const WEB: Kinds = Kinds(1 << 7);
    const ERROR: Kinds = Kinds(1 << 8);
    const PERMISSION: Kinds = Kinds(1 << 9);
    const QUESTION: Kinds = Kinds(1 << 10);
    const SUBAGENT: Kinds = Kinds(1 << 11);
    const PLAN: Kinds = Kinds(1 << 12);
    const RUNNING: Kinds = Kinds(1 << 13);
    const TOOL: Kinds = Kinds(1 << 14);
    const NOTICE: Kinds = Kinds(1 << 15);
    /// Of a turn that the user went back behind.
    pub(super) const UNDONE: Kinds = Kinds(1 << 16);

    const MESSAGE: Kinds = Kinds::PROMPT.with(Kinds::ANSWER);
    const EXPLORED: Kinds = Kinds::READ.with(Kinds::SEARCH);
    const ASKED: Kinds = Kinds::PERMISSION.with(Kinds::QUESTION);

    /// The chips, in the order they are shown.
    pub const CHIPS: [Chip; 9] = [
        Chip::new("Messages", Kinds::MESSAGE),
        Chip::new("Thinking", Kinds::THINKING),
        Chip::new("Edits", Kinds::EDIT),
        Chip::new("Commands", Kinds::COMMAND),
        Chip::new("Reads", Kinds::EXPLORED),
        Chip::new("Web", Kinds::WEB),
        Chip::new("Errors", Kinds::ERROR),
        Chip::new("Permissions", Kinds::ASKED),
        Chip::new("Subagents", Kinds::SUBAGENT),
    ];

    /// The words behind `is:`, and what they mean.
    pub(super) const WORDS: [(&'static str, Kinds); 18] = [
        ("prompt", Kinds::PROMPT),
        ("answer", Kinds::ANSWER),
        ("message", Kinds::MESSAGE),
        ("thinking", Kinds::THINKING),
        ("tool", Kinds::TOOL),
        ("edit", Kinds::EDIT),
        ("command", Kinds::COMMAND),
        ("read", Kinds::READ),
        ("search", Kinds::SEARCH),
        ("web", Kinds::WEB),
        ("error", Kinds::ERROR),
        ("permission", Kinds::PERMISSION),
        ("question", Kinds::QUESTION),
        ("subagent", Kinds::SUBAGENT),
        ("plan", Kinds::PLAN),
        ("running", Kinds::RUNNING),
        ("notice", Kinds::NOTICE),
        ("undone", Kinds::UNDONE),
    ];

    /// The kinds of either set.
    pub const fn with(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// The kinds of this set and not of the other.
    pub const fn without(self, other: Kinds) -> Kinds {
        Kinds(self.0 & !other.0)
    }

    /// Whether both have a kind in common.
    pub const fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds of a block.
    pub(super) fn of(feed: &Feed, id: BlockId) -> Kinds {
        let undone = match feed.turn_of(id).is_undone() {
            true => Kinds::UNDONE,
            false => Kinds::default(),
        };
        Kinds::of_body(&feed.block(id).body).with(undone)
    }

    fn of_body(body: &BlockBody) -> Kinds {
        match body {
            BlockBody::Prompt(_) => Kinds::PROMPT,
            BlockBody::Text(_) | BlockBody::Audio { .. } => Kinds::ANSWER,
            BlockBody::Thinking(_) => Kinds::THINKING,
            BlockBody::ToolCall(call) => {
                let kind = match call.kind {
                    ToolKind::Read => Kinds::READ,
                    ToolKind::Edit => Kinds::EDIT,
                    ToolKind::Search => Kinds::SEARCH,
                    ToolKind::Execute => Kinds::COMMAND,
                    ToolKind::Fetch => Kinds::WEB,
                    ToolKind::Think => Kinds::THINKING,
                    ToolKind::Agent => Kinds::SUBAGENT,
                    ToolKind::Plan => Kinds::PLAN,
                    ToolKind::Other => Kinds::default(),
                };
                let status = match call.status {
                    ToolStatus::Preparing | ToolStatus::Running => Kinds::RUNNING,
                    ToolStatus::Failed => Kinds::ERROR,
                    ToolStatus::Succeeded
                    | ToolStatus::Denied
                    | ToolStatus::Interrupted
                    | ToolStatus::NoResult => Kinds::default(),
                };
                Kinds::TOOL.with(kind).with(status)
            }
            BlockBody::FileEdit(_) => Kinds::EDIT,
            BlockBody::AgentMessage(_) | BlockBody::AgentSwitch(_) => Kinds::SUBAGENT,
            BlockBody::Permission(_) => Kinds::PERMISSION,
            BlockBody::Question(_) => Kinds::QUESTION,
            BlockBody::Plan(_) => Kinds::PLAN,
            BlockBody::Error { .. } => Kinds::ERROR,
            BlockBody::Interrupt { .. }
            | BlockBody::Compaction(_)
            | BlockBody::Notice { .. }
            | BlockBody::Gap(_) => Kinds::NOTICE,
            BlockBody::Progress(_)
            | BlockBody::Raw { .. }
            | BlockBody::SessionStart(_)
            | BlockBody::SessionEnd { .. }
            | BlockBody::TurnEnd(_) => Kinds::default(),
        }
    }
}

impl Chip {
    const fn new(label: &'static str, kinds: Kinds) -> Chip {
        Chip { label, kinds }
    }
}
