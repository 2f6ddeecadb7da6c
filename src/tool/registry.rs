//! All tools by name, and the only way to call them: unknown names, missing permission and wrong
//! arguments are handled here, so that a tool only receives arguments that fit its schema.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::{
    Access, Answer, CommandTool, Context, Tool, arguments, change, checks, commands, control, data,
    design_data, documents, files, numbers, plan_data, prd_data,
};
use crate::excerpt;
use crate::headings;
use crate::model::arguments::parse;
use crate::model::{ToolCall, ToolSpec};
use crate::nearest::nearest;
use crate::secret::WITHHELD;
use crate::stage::Role;
use crate::stages::{self, StageSpec, TABLE};

/// Maximum bytes of an answer for a model.
const MAX_ANSWER: usize = 16 * 1024;

/// Built-in tools that would write or use a hidden API key, so their arguments must not contain its
/// placeholder, `WITHHELD`.
const WORKS: [&str; 5] = ["write_file", "edit_file", "run_command", "check_tests", "check_lint"];

/// Every tool, in the order in which models see them.
pub fn all() -> Vec<&'static dyn Tool> {
    let mut tools: Vec<&'static dyn Tool> = Vec::new();
    tools.extend(documents::TOOLS);
    tools.extend(prd_data::TOOLS);
    tools.extend(design_data::TOOLS);
    tools.extend(plan_data::TOOLS);
    tools.extend(data::TOOLS);
    tools.extend(change::TOOLS);
    tools.extend(checks::TOOLS);
    tools.extend(control::TOOLS);
    tools.extend(files::TOOLS);
    tools.extend(commands::TOOLS);
    tools
}

/// The tool of this name.
pub fn find(name: &str) -> Option<&'static dyn Tool> {
    all().into_iter().find(|tool| tool.name() == name)
}

/// True for a tool that does more than read.
pub fn changes_something(name: &str) -> bool {
    find(name).is_some_and(|tool| tool.access() == Access::Write)
}

/// The definitions of these tools for a model, in this order; unknown names are left out.
/// `may_reach` says what commands can reach, and is added to the description of `run_command`,
/// although it applies to all tools that run commands.
pub fn specs(names: &[&str], may_reach: &str) -> Vec<ToolSpec> {
    let all = all();
    let spec = |name: &&str| {
        let tool = all.iter().find(|tool| tool.name() == *name)?;
        let mut spec = tool.spec();
        if *name == "run_command" && !may_reach.is_empty() {
            spec.description = format!("{} {may_reach}", spec.description);
        }
        Some(spec)
    };
    names.iter().filter_map(spec).collect()
}

/// True for a tool whose work another tool of the same role does: reading a document, saving a
/// section of one, asking to go back, opening the gate. A feature has the status of its tasks.
pub fn repeats_another(tool: &str, role: &[&str]) -> bool {
    let other = match tool {
        "load_idea"
        | "load_prd_doc"
        | "load_design_doc"
        | "load_plan_doc"
        | "load_change_request"
        | "load_feedback_history"
        | "get_requirements"
        | "get_design"
        | "get_plan" => "read_file",
        "create_requirement" | "update_requirement" | "add_feature" | "update_feature" => {
            "save_prd_doc"
        }
        "create_design_component" | "update_design_component" => "save_design_doc",
        "create_task" | "update_task" => "save_plan_doc",
        "update_feature_status" => "update_task_status",
        "goto_stage" => "request_replanning",
        // An actor's draft comes to the gate anyway; only a critic can put a person in its place.
        "request_human_review" | "review_with_feedback_content" | "review_and_edit_content" => {
            return !role.contains(&"exit_loop");
        }
        _ => return false,
    };
    role.contains(&other)
}

/// Refuses to write artifacts of another stage: the results of an earlier stage are read-only.
fn only_in_its_stage(context: &Context<'_>, tool: &dyn Tool) -> anyhow::Result<()> {
    let (name, now) = (tool.name(), context.stage);
    let offers = |row: &&StageSpec| row.offers(name);
    let Some(own) = TABLE.iter().find(offers).filter(|_| tool.effect().writes_artifacts()) else {
        return Ok(());
    };
    if own.stage == now || stages::offers(now, name) {
        return Ok(());
    }
    let stage = own.stage;
    anyhow::ensure!(
        now >= stage,
        "what {name} writes belongs to {stage}, a later stage; the current stage is {now}"
    );
    anyhow::bail!(
        "what {name} writes belongs to {stage} and cannot be changed in {now}; \
         if it must change, go back with goto_stage or request_replanning"
    )
}

/// Calls a tool for a model that was offered `allowed`. Never fails: an error becomes an answer.
pub async fn call(context: &mut Context<'_>, allowed: &[&str], call: &ToolCall) -> Answer {
    let name = call.name.as_str();
    let own = context.command_tools;
    let users = own.iter().find(|tool| tool.name() == name);
    let Some(tool) = users.map(|tool| tool as &dyn Tool).or_else(|| find(name)) else {
        let callable = own.iter().filter(|tool| tool.is_callable()).map(CommandTool::name);
        let offered: Vec<_> = allowed.iter().copied().chain(callable).collect();
        let offered = did_you_mean(name, &offered);
        return Answer::refused(format!("there is no tool '{name}'{offered}"));
    };
    let is_offered = match users {
        Some(tool) => tool.is_callable(),
        None => allowed.contains(&tool.name()),
    };
    let reads_only = matches!(context.role, Role::Critic | Role::Challenger);
    let read_only = reads_only && tool.access() == Access::Write;
    if !is_offered || read_only {
        context.outcome.guard_refusals += 1;
        let (role, stage) = (context.role, context.stage);
        return Answer::refused(format!("{name} is not available to the {role} in {stage}"));
    }
    if (users.is_some() || WORKS.contains(&name)) && call.arguments.contains(WITHHELD) {
        return Answer::refused(format!(
            "{name}: the arguments contain a key that is hidden from you, shown as \
             {WITHHELD}. Keys are never written or used: read the key from an environment \
             variable, or edit only lines without it"
        ));
    }
    if let Err(error) = only_in_its_stage(context, tool) {
        return Answer::refused(error.to_string());
    }
    let fitted = parse(&call.arguments)
        .and_then(|given| arguments::fit(&parameters(tool, users.is_some()), given));
    let fitted = fitted.map(|(mut arguments, notes)| {
        headings::in_all(&mut arguments, &headings::taken_off);
        (arguments, notes)
    });
    let mut answer = match tool.effect().writes_artifacts() {
        true => numbered(context, tool, call, fitted).await,
        false => fitted_call(context, tool, fitted).await,
    };
    let told = context.workspace.secrets().for_models(&answer.text).into_owned();
    answer.text = headings::set_off(&bounded(told)).into_owned();
    answer
}

/// Calls a tool with the arguments that fit its schema, or with the reason why they do not.
async fn fitted_call(context: &mut Context<'_>, tool: &dyn Tool, fitted: Fitted) -> Answer {
    let (fitted, notes) = match fitted {
        Ok(fitted) => fitted,
        Err(error) => return Answer::refused(format!("{}: {error}", tool.name())),
    };
    let mut answer = tool.call(context, fitted).await;
    for note in notes {
        answer.text.push_str(&format!("\n({note})"));
    }
    answer
}

/// Calls a tool that writes records. One that creates a record gets its number first: if the call
/// is refused, the answer says that the number is used up.
async fn numbered(
    context: &mut Context<'_>,
    tool: &dyn Tool,
    call: &ToolCall,
    fitted: Fitted,
) -> Answer {
    let arguments = fitted.as_ref().ok().map(|(arguments, _)| arguments);
    let new = match numbers::begin(context, tool.name(), call, arguments) {
        Ok(new) => new,
        Err(error) => return Answer::refused(format!("{error:#}")),
    };
    context.new_id = new.as_ref().map(|(_, id)| id.clone()).unwrap_or_default();
    let mut answer = fitted_call(context, tool, fitted).await;
    let told = numbers::end(context, (tool.name(), answer.ok), new);
    let told = told.unwrap_or_else(|error| Some(format!("{error:#}")));
    told.iter().for_each(|told| answer.text.push_str(&format!("\n{told}")));
    answer
}

/// Arguments that fit a tool's schema, with notes for the model; or what is wrong with them.
type Fitted = Result<(Value, Vec<String>), String>;

/// The schema of a tool's arguments. That of a built-in tool is made once.
fn parameters(tool: &dyn Tool, is_users: bool) -> Arc<Value> {
    static OF_BUILT_IN: LazyLock<HashMap<&str, Arc<Value>>> = LazyLock::new(|| {
        all().into_iter().map(|tool| (tool.name(), Arc::new(tool.parameters()))).collect()
    });
    let built_in = OF_BUILT_IN.get(tool.name()).filter(|_| !is_users);
    built_in.map_or_else(|| Arc::new(tool.parameters()), Arc::clone)
}

fn bounded(text: String) -> String {
    if text.len() <= MAX_ANSWER {
        return text;
    }
    let shown = excerpt::beginning(&text, MAX_ANSWER);
    let (end, whole) = (shown.len(), text.len());
    let shown = shown.trim_end_matches('\n');
    format!("{shown}\n[cut: the first {end} of {whole} bytes; read_file shows parts]")
}

fn did_you_mean(name: &str, offered: &[&str]) -> String {
    match nearest(name, offered.iter().copied()) {
        Some(best) => format!("; did you mean {best}?"),
        None => format!("; yours are {}", offered.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::stage::Stage;
    use crate::stages::CHALLENGER;
    use crate::tool::testing::Bench;

    /// Every tool except file and command tools; first those that only read.
    const READ: &str = "load_idea load_prd_doc load_design_doc load_plan_doc load_feedback_history \
        get_requirements get_design get_plan load_change_request check_data_format \
        check_feature_coverage check_task_dependencies provide_feedback exit_loop \
        request_replanning goto_stage request_human_review";
    const WRITE: &str = "save_idea save_prd_doc save_design_doc save_plan_doc save_check_report \
        save_delivery_report create_requirement update_requirement delete_requirement add_feature \
        update_feature delete_feature update_feature_status create_design_component \
        update_design_component delete_design_component create_task update_task delete_task \
        update_task_status save_change_request ask_user review_and_edit_content \
        review_with_feedback_content";

    #[test]
    fn each_tool_is_known() {
        for (names, access) in [(READ, Access::Read), (WRITE, Access::Write)] {
            for name in names.split_whitespace() {
                let tool = find(name).unwrap_or_else(|| panic!("{name} is missing"));
                assert_eq!(tool.access(), access, "{name}");
            }
        }
        let names: Vec<_> = all().iter().map(|tool| tool.name()).collect();
        let unique: BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        // Names that a user's own tool must not have.
        for name in &names {
            assert!(stages::has_tool(&name.to_uppercase()), "{name} is in no row");
        }
        let others = "list_files read_file search_files write_file edit_file delete_file \
            run_command check_tests check_lint";
        let known: BTreeSet<_> =
            [READ, WRITE, others].iter().flat_map(|names| names.split_whitespace()).collect();
        for name in names {
            assert!(known.contains(name), "{name} is not known");
        }
    }

    #[test]
    fn critics_and_judging_agents_only_read() {
        for spec in TABLE {
            let judges = spec.critic.iter().chain(spec.judges.then_some(&spec.actor));
            for role in judges.chain([&CHALLENGER]) {
                for name in role.tools() {
                    let tool = find(name).unwrap_or_else(|| panic!("no tool {name}"));
                    assert!(
                        tool.access() == Access::Read
                            || tool.effect() == crate::tool::Effect::WritesDocument,
                        "{name} in {}",
                        spec.stage
                    );
                }
            }
        }
    }

    #[test]
    fn every_tool_of_a_row_exists_and_code_is_written_in_coding_only() {
        for spec in TABLE {
            for name in spec.actor.tools() {
                assert!(find(name).is_some(), "no tool {name}");
                // In earlier stages, edit_file accepts only documents.
                let writes = ["write_file", "delete_file", "run_command"].contains(&name);
                assert!(!writes || spec.stage == Stage::Coding, "{name} in {}", spec.stage);
            }
        }
    }

    fn well_formed(schema: &Value, at: &str) {
        let object = schema.as_object().unwrap();
        let keys = ["type", "properties", "required", "description", "items", "enum"];
        for key in object.keys() {
            assert!(keys.contains(&key.as_str()), "{at}: {key} may be refused by strict servers");
        }
        match schema["type"].as_str().unwrap() {
            "object" => {
                let properties = schema["properties"].as_object().unwrap();
                for name in schema["required"].as_array().into_iter().flatten() {
                    assert!(properties.contains_key(name.as_str().unwrap()), "{at}: {name}");
                }
                for (name, inner) in properties {
                    well_formed(inner, &format!("{at}.{name}"));
                }
            }
            "array" => well_formed(&schema["items"], at),
            kind => assert!(["string", "integer", "number", "boolean"].contains(&kind), "{at}"),
        }
    }

    #[test]
    fn schemas_are_well_formed() {
        for tool in all() {
            let spec = tool.spec();
            assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
            well_formed(&spec.parameters, &spec.name);
            assert!(!spec.description.is_empty() && spec.description.len() <= 160, "{}", spec.name);
        }
    }

    /// Maximum bytes of the tool definitions in each request of a role.
    const MOST: usize = 5_250;

    #[test]
    fn no_role_has_more_schemas_than_it_can_afford() {
        let reach = "There is no network. Writable besides the project: $HOME (its own, for \
                     caches), $TMPDIR.";
        let bytes = |names: &[&str]| -> usize {
            let tool = |spec| serde_json::json!({"type": "function", "function": spec});
            specs(names, reach).into_iter().map(|spec| tool(spec).to_string().len() + 1).sum()
        };
        let forms = |row: &'static StageSpec| {
            let others = [row.with_earlier.map(|(_, row)| row), row.alone];
            std::iter::once(row).chain(others.into_iter().flatten())
        };
        let rows = TABLE.iter().flat_map(forms);
        for row in rows {
            let mut own = row.actor.tools();
            own.push("provide_feedback");
            let critic = row.critic.as_ref().map(crate::stages::RoleSpec::tools);
            for (role, mut names) in [("actor", own), ("critic", critic.unwrap_or_default())] {
                let all = names.clone();
                names.retain(|name| !repeats_another(name, &all));
                let bytes = bytes(&names);
                assert!(bytes <= MOST, "{bytes} bytes of tools for the {role} of {}", row.stage);
            }
        }
    }

    #[test]
    fn specs_come_in_the_order_asked_for() {
        let names: Vec<_> = specs(&["save_idea", "nope", "get_plan"], "No network.")
            .into_iter()
            .map(|s| s.name)
            .collect();
        assert_eq!(names, ["save_idea", "get_plan"]);
        let told = specs(&["run_command", "read_file"], "No network.");
        assert!(told[0].description.ends_with(". No network."), "{}", told[0].description);
        assert!(!told[1].description.contains("network"));
    }

    #[test]
    fn an_unknown_tool_names_the_nearest() {
        let bench = Bench::new(Stage::Prd);
        let mut context = bench.context();
        let answer = context.call("create_requirements", "{}");
        assert!(!answer.ok);
        assert!(answer.text.contains("did you mean create_requirement?"), "{}", answer.text);
        assert_eq!(context.0.outcome.guard_refusals, 0);
        let answer = context.call_with(&["save_idea", "ask_user"], "weather", "{}");
        assert_eq!(answer.text, "there is no tool 'weather'; yours are save_idea, ask_user");
    }

    #[test]
    fn tools_not_offered_are_refused_and_counted() {
        let bench = Bench::new(Stage::Prd);
        let mut context = bench.context();
        context.0.role = Role::Critic;
        let answer = context.call("create_requirement", r#"{"title":"t"}"#);
        assert_eq!(answer.text, "create_requirement is not available to the critic in prd");
        let answer = context.call_with(&["exit_loop"], "get_plan", "{}");
        assert!(answer.text.contains("not available"));
        assert_eq!(context.0.outcome.guard_refusals, 2);
    }

    #[test]
    fn wrong_arguments_are_an_answer() {
        let bench = Bench::new(Stage::Prd);
        let mut context = bench.context();
        let answer = context.call("create_requirement", r#"{"title": t}"#);
        assert!(answer.text.starts_with("create_requirement: the arguments are not valid JSON"));
        let answer = context.call("create_requirement", r#"{"title": "t", "priority": "urgent"}"#);
        assert!(answer.text.contains("missing: description, acceptance_criteria"));
        assert!(answer.text.contains("priority must be one of high, medium, low"));
    }

    #[test]
    fn long_answers_are_cut_and_say_so() {
        let text = bounded("é".repeat(MAX_ANSWER));
        assert!(text.len() < MAX_ANSWER + 100 && text.contains("[cut: "));
        assert_eq!(bounded("short".into()), "short");
    }
}
