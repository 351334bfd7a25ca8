//! To-do lists: `TodoWrite` says the whole list, `TaskCreate` and `TaskUpdate` one entry.

use chat_event::Extra;
use chat_event::payload::{Plan, PlanEntry};
use serde_json::Value;

use super::session::Call;
use crate::value::{list_of, str_of, text_of};

/// Tasks that a plan shows, for it is told whole with each change: with more, the first that is completed goes.
const MAX_TASKS: usize = 1000;

/// The tasks known, in the order they were made.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    tasks: Vec<Task>,
}

#[derive(Debug)]
struct Task {
    id: String,
    subject: String,
    status: String,
}

impl Tasks {
    /// The plan after `call` succeeded, where it changed one.
    pub(crate) fn after(&mut self, call: &Call, details: Option<&Value>) -> Option<Plan> {
        let details = details.unwrap_or(&Value::Null);
        match call.name.as_str() {
            "TodoWrite" => {
                let todos = match list_of(details, "newTodos") {
                    [] => list_of(&call.args, "todos"),
                    todos => todos,
                };
                let entries = todos
                    .iter()
                    .map(|todo| entry(str_of(todo, "content"), str_of(todo, "status")))
                    .collect();
                Some(Plan {
                    entries,
                    extra: Extra::default(),
                })
            }
            "TaskCreate" => {
                let made = details.get("task").unwrap_or(&Value::Null);
                let id = id_of(made, "id").unwrap_or_else(|| (self.tasks.len() + 1).to_string());
                let subject = text_of(made, "subject")
                    .or_else(|| text_of(&call.args, "subject"))
                    .unwrap_or("");
                if self.tasks.len() >= MAX_TASKS {
                    let over = |task: &Task| task.status == "completed";
                    let oldest = self.tasks.iter().position(over).unwrap_or(0);
                    self.tasks.remove(oldest);
                }
                self.tasks.push(Task {
                    id,
                    subject: subject.to_owned(),
                    status: "pending".to_owned(),
                });
                Some(self.plan())
            }
            "TaskUpdate" => {
                let id = id_of(&call.args, "taskId").or_else(|| id_of(details, "taskId"))?;
                let status = text_of(&call.args, "status");
                if status == Some("deleted") {
                    self.tasks.retain(|task| task.id != id);
                    return Some(self.plan());
                }
                let task = self.tasks.iter_mut().find(|task| task.id == id)?;
                if let Some(status) = status {
                    task.status = status.to_owned();
                }
                if let Some(subject) = text_of(&call.args, "subject") {
                    task.subject = subject.to_owned();
                }
                Some(self.plan())
            }
            "TaskList" => {
                let listed = details.get("tasks")?.as_array()?;
                self.tasks = listed
                    .iter()
                    .map(|task| Task {
                        id: id_of(task, "id").unwrap_or_default(),
                        subject: str_of(task, "subject").unwrap_or("").to_owned(),
                        status: str_of(task, "status").unwrap_or("pending").to_owned(),
                    })
                    .collect();
                Some(self.plan())
            }
            _ => None,
        }
    }

    fn plan(&self) -> Plan {
        let entries = self
            .tasks
            .iter()
            .map(|task| entry(Some(&task.subject), Some(&task.status)))
            .collect();
        Plan {
            entries,
            extra: Extra::default(),
        }
    }
}

fn entry(content: Option<&str>, status: Option<&str>) -> PlanEntry {
    PlanEntry {
        content: content.unwrap_or("").to_owned(),
        status: status.unwrap_or("pending").to_owned(),
        extra: Extra::default(),
    }
}

/// Ids come as text or as numbers.
fn id_of(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
