//! Reads the functions' routes and schedules from a SAM template.

use std::path::Path;

use serde_yaml_ng::Value;

/// The route key of requests that match no other route.
pub const DEFAULT: &str = "$default";

/// The routes and schedules of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Every route of the HTTP API.
    pub routes: Vec<TemplateRoute>,
    /// Every schedule.
    pub schedules: Vec<Schedule>,
}

/// A route and the function that answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateRoute {
    /// The gateway's route key, such as `ANY /api/v1/roles/{id}` or `$default`.
    pub key: String,
    /// The function's logical id.
    pub function: String,
}

/// A schedule and the function that it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The schedule in `EventBridge`'s syntax, such as `cron(0 0 * * ? *)`.
    pub expression: String,
    /// The function's logical id.
    pub function: String,
}

impl Template {
    /// Reads a template from a file.
    pub fn read(file: &Path) -> Result<Self, String> {
        let path = file.display();
        let text =
            std::fs::read_to_string(file).map_err(|error| format!("{path} cannot be read: {error}."))?;
        Self::parse(&text).map_err(|error| format!("{path}: {error}."))
    }

    /// Parses a template.
    pub fn parse(text: &str) -> Result<Self, String> {
        let template: Value = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
        let resources = template.get("Resources").and_then(Value::as_mapping).ok_or("it has no Resources")?;
        let (mut routes, mut schedules) = (Vec::new(), Vec::new());
        for (name, resource) in resources {
            let properties = resource.get("Properties").unwrap_or(&Value::Null);
            match string(resource, "Type") {
                Some("AWS::Serverless::HttpApi") => {
                    let paths = properties.get("DefinitionBody").and_then(|document| document.get("paths"));
                    for (path, methods) in paths.and_then(Value::as_mapping).into_iter().flatten() {
                        routes.extend(routes_of(path, methods)?);
                    }
                }
                Some("AWS::Serverless::Function") => {
                    let function = name.as_str().ok_or("a resource's name is not a string")?;
                    let events = properties.get("Events").and_then(Value::as_mapping);
                    schedules.extend(
                        events.into_iter().flatten().filter_map(|(_, event)| schedule(function, event)),
                    );
                }
                _ => {}
            }
        }
        Ok(Self { routes, schedules: schedules.into_iter().collect::<Result<_, _>>()? })
    }
}

/// Returns the routes of a path in the definition of the API.
fn routes_of(path: &Value, methods: &Value) -> Result<Vec<TemplateRoute>, String> {
    let path = path.as_str().ok_or("a path is not a string")?;
    let methods = methods.as_mapping().ok_or_else(|| format!("{path} has no methods"))?;
    let route = |(method, operation): (&Value, &Value)| {
        let key = match method.as_str() {
            _ if path == DEFAULT => DEFAULT.to_owned(),
            Some("x-amazon-apigateway-any-method") => format!("ANY {path}"),
            Some(method) => format!("{} {path}", method.to_uppercase()),
            None => return Err(format!("a method of {path} is not a string")),
        };
        let uri =
            operation.get("x-amazon-apigateway-integration").and_then(|integration| integration.get("uri"));
        let function = uri.and_then(text).and_then(invoked);
        let function = function.ok_or_else(|| format!("{key} invokes no function's alias"))?;
        Ok(TemplateRoute { key, function: function.to_owned() })
    };
    methods.iter().map(route).collect()
}

/// Returns the logical id of the function whose alias an integration invokes.
fn invoked(uri: &str) -> Option<&str> {
    let (_, function) = uri.split_once("/functions/${")?;
    function.strip_suffix(".Arn}:live/invocations")
}

fn schedule(function: &str, event: &Value) -> Option<Result<Schedule, String>> {
    let properties = event.get("Properties")?;
    let expression = match string(event, "Type")? {
        "ScheduleV2" => string(properties, "ScheduleExpression"),
        "Schedule" => string(properties, "Schedule"),
        _ => return None,
    };
    let schedule =
        |expression: &str| Schedule { expression: expression.to_owned(), function: function.to_owned() };
    Some(expression.map(schedule).ok_or_else(|| format!("{function} has a schedule without an expression")))
}

/// Returns a text, which may be the argument of an intrinsic function.
fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Tagged(tagged) => tagged.value.as_str(),
        value => value.as_str(),
    }
}

fn string<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      DefinitionBody:
        paths:
          /roles: {x-amazon-apigateway-any-method: {x-amazon-apigateway-integration: {uri: !Sub 'x/functions/${Roles.Arn}:live/invocations'}}}
          /quick: {post: {x-amazon-apigateway-integration: {uri: !Sub 'x/functions/${Quick.Arn}:live/invocations'}}}
          $default: {x-amazon-apigateway-any-method: {x-amazon-apigateway-integration: {uri: !Sub 'x/functions/${Roles.Arn}:live/invocations'}}}
  Table: {Type: AWS::DynamoDB::Table}
  Roles:
    Type: AWS::Serverless::Function
    Properties:
      Role: !GetAtt Other.Arn
      Events:
        Changes: {Type: DynamoDB, Properties: {Stream: !GetAtt Table.StreamArn}}
        Night: {Type: ScheduleV2, Properties: {ScheduleExpression: cron(0 0 * * ? *)}}
";

    #[test]
    fn routes_and_schedules_are_found() {
        let template = Template::parse(TEMPLATE).unwrap();
        let keys: Vec<_> =
            template.routes.iter().map(|route| (route.key.as_str(), route.function.as_str())).collect();
        assert_eq!(keys, [("ANY /roles", "Roles"), ("POST /quick", "Quick"), ("$default", "Roles")]);
        let [schedule] = &*template.schedules else { panic!("{:?}", template.schedules) };
        assert_eq!((&*schedule.expression, &*schedule.function), ("cron(0 0 * * ? *)", "Roles"));
    }

    #[test]
    fn invalid_templates_are_rejected_with_a_reason() {
        for (text, reason) in [
            ("Resources: [", "did not find"),
            ("{}", "no Resources"),
            (&TEMPLATE.replace("/quick:", "/roles:"), "duplicate entry"),
            (&TEMPLATE.replace("/quick: {", "/quick: x # "), "/quick has no methods"),
            (
                &TEMPLATE.replace("${Quick.Arn}:live", "${Quick.Arn}"),
                "POST /quick invokes no function's alias",
            ),
            (
                &TEMPLATE.replace("{post: {x-amazon-apigateway-", "{post: {x-"),
                "POST /quick invokes no function's alias",
            ),
            (&TEMPLATE.replace("ScheduleExpression", "Other"), "without an expression"),
        ] {
            let error = Template::parse(text).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        assert!(
            Template::read(Path::new("nowhere.yaml")).unwrap_err().starts_with("nowhere.yaml cannot be read")
        );
    }
}
