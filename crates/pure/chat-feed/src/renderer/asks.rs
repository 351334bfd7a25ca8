//! What waits for an answer: permissions, questions, messages to other agents. Either half may come first.

use chat_event::payload::{
    AgentCallback, AgentMessage, PermissionRequest, PermissionResolved, QuestionRequest,
    QuestionResolved,
};
use chat_event::{ChatEvent, Json};

use super::ChatRenderer;
use super::two_sources::take_request;
use crate::block::{AgentMessageBlock, BlockBody, BlockId, PermissionBlock, QuestionBlock};

/// What waits for an answer, and by whose id: each kind counts its ids for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ask {
    Message,
    Permission,
    Question,
}
chat_event::pack_variants!(Ask { 0 => Message, 1 => Permission, 2 => Question });

impl ChatRenderer {
    #[inline(never)]
    pub(super) fn agent_message(&mut self, event: &ChatEvent, message: &AgentMessage) {
        let id = self.message(event, &message.message_id);
        let sender = event.agent_id.clone().or_else(|| {
            // What a sub-agent says lies within the call that began it.
            let within = self.feed.block(self.feed.block(id).parent?);
            match &within.body {
                BlockBody::ToolCall(call) => call.agent(),
                _ => None,
            }
        });
        if let BlockBody::AgentMessage(block) = &mut self.feed.slot(id).block.body {
            block.sender = sender.unwrap_or_default().into();
            block.sender_hue = match &*block.sender {
                "" => self.agent_hues.of("main"),
                sender => self.agent_hues.of(sender),
            };
            block.target = message.target_agent_id.as_str().into();
            block.target_hue = self.agent_hues.of(&block.target);
            block.message = Some(message.message.clone());
            block.message_event = Some(event.id.as_str().into());
            block.wait = message.wait;
        }
        self.update(id);
    }

    #[inline(never)]
    pub(super) fn agent_callback(&mut self, event: &ChatEvent, callback: &AgentCallback) {
        let id = self.message(event, &callback.message_id);
        if let BlockBody::AgentMessage(block) = &mut self.feed.slot(id).block.body {
            if block.result.is_some() {
                return;
            }
            if block.target.is_empty() {
                block.target = callback.from_agent_id.as_str().into();
                block.target_hue = self.agent_hues.of(&block.target);
            }
            block.result = Some(callback.result.clone());
            block.result_event = Some(event.id.as_str().into());
        }
        self.update(id);
    }

    fn message(&mut self, event: &ChatEvent, message_id: &str) -> BlockId {
        self.asking_row(event, Ask::Message, message_id, |message_id| {
            BlockBody::AgentMessage(Box::new(AgentMessageBlock {
                message_id: message_id.into(),
                sender: "".into(),
                target: "".into(),
                sender_hue: 1,
                target_hue: 1,
                message: None,
                message_event: None,
                wait: false,
                result: None,
                result_event: None,
            }))
        })
    }

    #[inline(never)]
    pub(super) fn permission_request(&mut self, event: &ChatEvent, request: &PermissionRequest) {
        if let Some(told) = self.refusal_told_before(event, request) {
            self.asks
                .insert((Ask::Permission, request.request_id.as_str().into()), told);
            if let BlockBody::Permission(block) = &mut self.feed.slot(told).block.body {
                block.request.tool_call_id.clone_from(&request.tool_call_id);
            }
            self.update(told);
            return self.asked_or_answered(told);
        }
        let name = (Ask::Permission, request.request_id.as_str());
        let told = self.asked_by_another(name, request, |body| {
            let BlockBody::Permission(told) = body else {
                return false;
            };
            let before = &told.request;
            before.tool_name == request.tool_name
                && before.args.as_ref().map(Json::to_value)
                    == request.args.as_ref().map(Json::to_value)
        });
        let id = told.unwrap_or_else(|| self.permission(event, &request.request_id));
        self.asked(event, id, request.answerable, |body| {
            if let BlockBody::Permission(block) = body {
                take_request(&mut block.request, request, told.is_some());
            }
        });
    }

    #[inline(never)]
    pub(super) fn permission_resolved(&mut self, event: &ChatEvent, resolved: &PermissionResolved) {
        let id = self.permission(event, &resolved.request_id);
        let answered_ms = self.answered_ms(id);
        if let BlockBody::Permission(block) = &mut self.feed.slot(id).block.body {
            // The first answer stands.
            if block.resolved.is_some() {
                return;
            }
            block.resolved = Some(resolved.clone());
            block.answered_ms = answered_ms;
            block.expired = false;
        }
        self.update(id);
        self.asked_or_answered(id);
    }

    /// How many requests wait for an answer: of turns that are not over, of what goes on in the background, and of neither.
    pub fn waiting_asks(&self) -> usize {
        self.asks_that_wait().count()
    }

    /// Their rows.
    pub fn asks_that_wait(&self) -> impl Iterator<Item = BlockId> {
        let of_turns = self.goes_on().flat_map(|open| &open.asks);
        of_turns.chain(&self.free_asks).copied()
    }

    fn permission(&mut self, event: &ChatEvent, request_id: &str) -> BlockId {
        self.asking_row(event, Ask::Permission, request_id, |request_id| {
            BlockBody::Permission(Box::new(PermissionBlock {
                request: PermissionRequest {
                    request_id: request_id.to_owned(),
                    ..PermissionRequest::default()
                },
                call: None,
                resolved: None,
                answered_ms: None,
                expired: false,
            }))
        })
    }

    #[inline(never)]
    pub(super) fn question_request(&mut self, event: &ChatEvent, request: &QuestionRequest) {
        let texts = |request: &QuestionRequest| -> Vec<String> {
            let questions = request.questions.iter();
            questions.map(|question| question.text.clone()).collect()
        };
        let asked = texts(request);
        let name = (Ask::Question, request.request_id.as_str());
        let told = self.asked_by_another(
            name,
            request,
            |body| matches!(body, BlockBody::Question(told) if texts(&told.request) == asked),
        );
        let id = told.unwrap_or_else(|| self.question(event, &request.request_id));
        self.asked(event, id, request.answerable, |body| {
            if let BlockBody::Question(block) = body {
                take_request(&mut block.request, request, told.is_some());
            }
        });
    }

    #[inline(never)]
    pub(super) fn question_resolved(&mut self, event: &ChatEvent, resolved: &QuestionResolved) {
        let id = self.question(event, &resolved.request_id);
        let answered_ms = self.answered_ms(id);
        if let BlockBody::Question(block) = &mut self.feed.slot(id).block.body {
            if block.resolved.is_some() {
                return;
            }
            block.resolved = Some(resolved.clone());
            block.answered_ms = answered_ms;
            block.expired = false;
        }
        self.update(id);
        self.asked_or_answered(id);
    }

    fn question(&mut self, event: &ChatEvent, request_id: &str) -> BlockId {
        self.asking_row(event, Ask::Question, request_id, |request_id| {
            BlockBody::Question(Box::new(QuestionBlock {
                request: QuestionRequest {
                    request_id: request_id.to_owned(),
                    ..QuestionRequest::default()
                },
                resolved: None,
                answered_ms: None,
                expired: false,
            }))
        })
    }

    /// The row of what is asked by this id; whichever half comes first makes it.
    fn asking_row(
        &mut self,
        event: &ChatEvent,
        ask: Ask,
        id: &str,
        body: impl FnOnce(&str) -> BlockBody,
    ) -> BlockId {
        // One that was taken back may be asked again.
        if let Some(&row) = self.asks.get(&(ask, id.into()))
            && self.feed.contains(row)
        {
            return row;
        }
        let place = self.place(event);
        let row = self.insert(&place, body(id));
        self.asks.insert((ask, id.into()), row);
        row
    }

    /// Puts a request into its row.
    fn asked(
        &mut self,
        event: &ChatEvent,
        id: BlockId,
        answerable: Option<bool>,
        put: impl FnOnce(&mut BlockBody),
    ) {
        // It is found by what it says, and may say another call from here on.
        let call_before = self.row_of_asking_call(id);
        self.forget_open(id);
        put(&mut self.feed.slot(id).block.body);
        self.note_free(event, id, answerable);
        self.update(id);
        self.asked_or_answered(id);
        if let Some(call) = call_before {
            self.look_whether_it_waits(call);
        }
    }

    /// Keeps the turn's list of what waits; in a turn that is over, and for a call that is done, nothing does. That may be by the
    /// result of its call, which is not of the request: the row stays when that is taken back.
    pub(super) fn asked_or_answered(&mut self, id: BlockId) {
        let call = self.row_of_asking_call(id);
        let is_done = call.is_some_and(|call| self.is_done(call));
        if let BlockBody::Permission(block) = &mut self.feed.slot(id).block.body {
            block.call = call.filter(|_| block.resolved.is_some() || is_done);
        }
        self.update_quietly(id);
        let waits = match &self.feed.block(id).body {
            BlockBody::Permission(block) => block.resolved.is_none(),
            BlockBody::Question(block) => block.resolved.is_none(),
            _ => false,
        };
        let is_over = self.is_over_around(id);
        let is_free = self.free_asks.contains(&id);
        let open = self.open_around(id);
        if !waits || is_done {
            open.asks.remove(&id);
            self.free_asks.remove(&id);
            if waits {
                self.expire(id);
            }
        } else if is_free {
            // No turn ends it, also where another source told of it in one.
            open.asks.remove(&id);
            self.ask_again(id);
        } else if is_over {
            self.expire(id);
        } else {
            open.asks.insert(id);
            self.ask_again(id);
        }
        let is_over = is_over && !self.free_asks.contains(&id);
        let is_open = waits && !is_done && !is_over;
        match is_open {
            true => self.note_open(id),
            false => self.forget_open(id),
        }
        if !waits && call.is_none() {
            self.note_early_answer(id);
        }
        self.asking_call_changed(id, is_open);
    }

    /// What expired when its turn failed is asked again, as the turn goes on.
    fn ask_again(&mut self, id: BlockId) {
        match &mut self.feed.slot(id).block.body {
            BlockBody::Permission(block) => block.expired = false,
            BlockBody::Question(block) => block.expired = false,
            _ => {}
        }
    }

    /// It was taken back: nothing waits for it.
    pub(super) fn forget_ask(&mut self, id: BlockId) {
        self.open_around(id).asks.remove(&id);
        self.free_asks.remove(&id);
        self.forget_open(id);
        self.asking_call_changed(id, false);
    }

    /// A request that names no turn, as a hook sends it, is not of the turn that it stands in: a sub-agent in the background
    /// may ask when that is long over.
    fn note_free(&mut self, event: &ChatEvent, id: BlockId, answerable: Option<bool>) {
        if event.turn_id.is_none() && answerable != Some(false) && !self.closed {
            self.free_asks.insert(id);
        }
    }

    /// Nobody waits any more for answers to what no turn asked.
    pub(super) fn expire_free(&mut self) {
        for ask in std::mem::take(&mut self.free_asks) {
            self.expire(ask);
        }
    }

    /// No answer can come any more.
    pub(super) fn expire(&mut self, id: BlockId) {
        match &mut self.feed.slot(id).block.body {
            BlockBody::Permission(block) => block.expired = block.resolved.is_none(),
            BlockBody::Question(block) => block.expired = block.resolved.is_none(),
            _ => return,
        }
        self.update_quietly(id);
        self.forget_open(id);
        if let Some(call) = self.row_of_asking_call(id) {
            self.look_whether_it_waits(call);
        }
    }
}
