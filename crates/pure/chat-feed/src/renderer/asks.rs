//! What waits for an answer: permissions, questions, messages to other agents. Either half may come first.

use chat_event::ChatEvent;
use chat_event::payload::{
    AgentCallback, AgentMessage, PermissionRequest, PermissionResolved, QuestionRequest,
    QuestionResolved,
};

use super::ChatRenderer;
use crate::block::{AgentMessageBlock, BlockBody, BlockId, PermissionBlock, QuestionBlock};

impl ChatRenderer {
    pub(super) fn agent_message(&mut self, event: &ChatEvent, message: &AgentMessage) {
        let known = self.messages.get(message.message_id.as_str()).copied();
        let id = match known {
            Some(id) => id,
            None => self.new_message(event, &message.message_id),
        };
        if let BlockBody::AgentMessage(block) = &mut self.feed.slot(id).block.body {
            block.target = message.target_agent_id.as_str().into();
            block.message = Some(message.message.clone());
            block.wait = message.wait;
        }
        self.update(id);
    }

    pub(super) fn agent_callback(&mut self, event: &ChatEvent, callback: &AgentCallback) {
        let known = self.messages.get(callback.message_id.as_str()).copied();
        let id = match known {
            Some(id) => id,
            None => self.new_message(event, &callback.message_id),
        };
        if let BlockBody::AgentMessage(block) = &mut self.feed.slot(id).block.body {
            if block.result.is_some() {
                return;
            }
            if block.target.is_empty() {
                block.target = callback.from_agent_id.as_str().into();
            }
            block.result = Some(callback.result.clone());
        }
        self.update(id);
    }

    fn new_message(&mut self, event: &ChatEvent, message_id: &str) -> BlockId {
        let block = AgentMessageBlock {
            message_id: message_id.into(),
            target: "".into(),
            message: None,
            wait: false,
            result: None,
        };
        let place = self.place(event);
        let id = self.insert(&place, BlockBody::AgentMessage(Box::new(block)));
        self.messages.insert(message_id.into(), id);
        id
    }

    pub(super) fn permission_request(&mut self, event: &ChatEvent, request: &PermissionRequest) {
        let id = self.permission(event, &request.request_id);
        if let BlockBody::Permission(block) = &mut self.feed.slot(id).block.body {
            block.request = request.clone();
        }
        self.update(id);
        self.mark_waiting(id);
    }

    pub(super) fn permission_resolved(&mut self, event: &ChatEvent, resolved: &PermissionResolved) {
        let id = self.permission(event, &resolved.request_id);
        if let BlockBody::Permission(block) = &mut self.feed.slot(id).block.body {
            if block.resolved.is_some() {
                return;
            }
            block.resolved = Some(resolved.clone());
            block.expired = false;
        }
        self.update(id);
        self.mark_waiting(id);
    }

    fn permission(&mut self, event: &ChatEvent, request_id: &str) -> BlockId {
        if let Some(&id) = self.permissions.get(request_id) {
            return id;
        }
        let request = PermissionRequest {
            request_id: request_id.to_owned(),
            ..PermissionRequest::default()
        };
        let place = self.place(event);
        let id = self.insert(
            &place,
            BlockBody::Permission(Box::new(PermissionBlock {
                request,
                resolved: None,
                expired: false,
            })),
        );
        self.permissions.insert(request_id.into(), id);
        id
    }

    pub(super) fn question_request(&mut self, event: &ChatEvent, request: &QuestionRequest) {
        let id = self.question(event, &request.request_id);
        if let BlockBody::Question(block) = &mut self.feed.slot(id).block.body {
            block.request = request.clone();
        }
        self.update(id);
        self.mark_waiting(id);
    }

    pub(super) fn question_resolved(&mut self, event: &ChatEvent, resolved: &QuestionResolved) {
        let id = self.question(event, &resolved.request_id);
        if let BlockBody::Question(block) = &mut self.feed.slot(id).block.body {
            if block.resolved.is_some() {
                return;
            }
            block.resolved = Some(resolved.clone());
            block.expired = false;
        }
        self.update(id);
        self.mark_waiting(id);
    }

    fn question(&mut self, event: &ChatEvent, request_id: &str) -> BlockId {
        if let Some(&id) = self.questions.get(request_id) {
            return id;
        }
        let request = QuestionRequest {
            request_id: request_id.to_owned(),
            ..QuestionRequest::default()
        };
        let place = self.place(event);
        let id = self.insert(
            &place,
            BlockBody::Question(Box::new(QuestionBlock {
                request,
                resolved: None,
                expired: false,
            })),
        );
        self.questions.insert(request_id.into(), id);
        id
    }

    /// Keeps the turn's list of what waits; in a turn that is over nothing does.
    fn mark_waiting(&mut self, id: BlockId) {
        let waits = match &self.feed.block(id).body {
            BlockBody::Permission(block) => block.resolved.is_none(),
            BlockBody::Question(block) => block.resolved.is_none(),
            _ => false,
        };
        let turn = self.feed.block(id).turn;
        let work = &mut self.turn_works[turn.0 as usize];
        if !waits {
            work.open_asks.remove(&id);
        } else if work.closed {
            self.expire(id);
        } else {
            work.open_asks.insert(id);
        }
    }

    /// The turn is over: no answer can come any more.
    pub(super) fn expire(&mut self, id: BlockId) {
        match &mut self.feed.slot(id).block.body {
            BlockBody::Permission(block) => block.expired = block.resolved.is_none(),
            BlockBody::Question(block) => block.expired = block.resolved.is_none(),
            _ => return,
        }
        self.update_quietly(id);
    }
}
