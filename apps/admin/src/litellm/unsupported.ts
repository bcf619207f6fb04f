/** Why a member of LiteLLM's file is not carried over, by its section and name. What has no row is said to be unknown. */

const DEFAULTS = 'The gateway adds no parameters to requests: the program sets it.';
const FALLBACK =
  'Which failures lead to another route is not chosen by kind: all that another route may heal do.';
const OBSERVED = 'The gateway has metrics, log lines and usage records of its own: docs/operations.md.';
const CACHE = 'The gateway does not answer from a cache. Prompt caches of providers work as they are.';
/** For guardrails of every kind. */
export const HOOKS =
  "Guardrails are hooks here: servers with the generic guardrail API, OpenAI's moderations and Bedrock's guardrails are configured in the section hooks (docs/hooks.md).";
const MCP = 'The gateway does not serve MCP.';
const KEYS = 'How keys are made is said for each key: npm run gateway -- keys create.';
const SIGN_IN = 'People sign in to the console by OpenID Connect: docs/console.md.';
const ALERTS = 'The gateway sends alerts of its own: docs/alerts.md.';
const DATABASE =
  'The gateway has a database of its own: docs/operations.md. Keys and teams are imported with --from.';
const STRATEGY = 'Requests are spread by weight and load among routes of one priority.';
const FOUND = 'The gateway finds it out by itself.';
const RETRIES = 'Failed attempts go to the next route; fallback.maxAttempts of the model bounds them.';
const DROPS =
  'What a translation cannot carry is left out and named in x-gateway-dropped; a caller may refuse that by x-gateway-strict.';

export const OF_PARAMS: Readonly<Record<string, string>> = {
  api_version: "Azure's v1 API, which the gateway calls, needs no version.",
  max_retries: RETRIES,
  num_retries: RETRIES,
  drop_params: DROPS,
  additional_drop_params: DROPS,
  allowed_openai_params: DROPS,
  mock_response: 'The gateway has a simulator: provider: simulator.',
  tags: 'Routes are not chosen by tags.',
  temperature: DEFAULTS,
  top_p: DEFAULTS,
  max_tokens: DEFAULTS,
  max_completion_tokens: DEFAULTS,
  stop: DEFAULTS,
  seed: DEFAULTS,
  reasoning_effort: DEFAULTS,
  thinking: DEFAULTS,
  extra_body: DEFAULTS,
  cache_control_injection_points: 'Cache points are set by the program.',
  azure_ad_token: 'A token ends within the hour: let the channel get its own, by auth: { type: entra }.',
  aws_sts_endpoint: 'Roles are assumed at the region of auth.stsRegion.',
  aws_bedrock_runtime_endpoint: "Set baseUrl at the channel, if it is not the region's own address.",
  mode: 'The kind of the model says it.',
  guardrails: HOOKS,
  use_in_pass_through: 'The gateway passes no paths of providers.',
  configurable_clientside_auth_params: "Callers cannot choose the provider's address or key.",
  max_budget: 'Budgets are of keys and teams, not of routes.',
  budget_duration: 'Budgets are of keys and teams, not of routes.',
  rpm: 'It bounds nothing here; maxConcurrent of a channel and limits of keys and teams do.',
  tpm: 'It bounds nothing here; limits of keys and teams do.',
};

export const OF_INFO: Readonly<Record<string, string>> = {
  id: 'Routes have no ids.',
  base_model:
    'If the deployment has another name than its model, set a price: the catalogue goes by the name.',
  access_groups: 'Keys say which models they may use, by name or pattern.',
  supported_environments: 'Each environment has a file of its own.',
  max_tokens: 'contextWindow and maxOutputTokens say it, from max_input_tokens and max_output_tokens.',
  metadata: 'Models have no metadata.',
};

export const OF_ROUTER: Readonly<Record<string, string>> = {
  routing_strategy: STRATEGY,
  routing_strategy_args: STRATEGY,
  enable_pre_call_checks: FOUND,
  context_window_fallbacks: FALLBACK,
  content_policy_fallbacks: FALLBACK,
  retry_policy: RETRIES,
  model_group_retry_policy: RETRIES,
  allowed_fails_policy: 'The channel rests by cause: docs/configuration.md#when-a-channel-rests.',
  retry_after: RETRIES,
  max_fallbacks: RETRIES,
  optional_pre_call_checks:
    'Conversations stay with the account that has their prompt cached, by themselves.',
  enable_tag_filtering: 'Routes are not chosen by tags.',
  redis_host: 'Set REDIS_URL.',
  redis_port: 'Set REDIS_URL.',
  redis_password: 'Set REDIS_URL.',
  redis_url: 'Set REDIS_URL.',
  provider_budget_config: 'Budgets are of keys and teams.',
  set_verbose: OBSERVED,
  cache_responses: CACHE,
  default_litellm_params: DEFAULTS,
};

export const OF_LITELLM: Readonly<Record<string, string>> = {
  drop_params: DROPS,
  modify_params: DROPS,
  callbacks: OBSERVED,
  success_callback: OBSERVED,
  failure_callback: OBSERVED,
  service_callbacks: OBSERVED,
  turn_off_message_logging: 'The gateway logs no content unless it is told to.',
  redact_user_api_key_info: OBSERVED,
  set_verbose: OBSERVED,
  json_logs: OBSERVED,
  cache: CACHE,
  cache_params: CACHE,
  enable_caching: CACHE,
  guardrails: HOOKS,
  mcp_servers: MCP,
  mcp_aliases: MCP,
  context_window_fallbacks: FALLBACK,
  content_policy_fallbacks: FALLBACK,
  default_team_settings: OBSERVED,
  default_internal_user_params: KEYS,
  default_team_params: KEYS,
  upperbound_key_generate_params: KEYS,
  max_internal_user_budget: KEYS,
  internal_user_budget_duration: KEYS,
  ssl_verify: 'Give the channel the authority that signed it: caFile.',
  ssl_certificate: 'Give the channel the authority that signed it: caFile.',
  force_ipv4: FOUND,
  max_budget: 'Budgets are of keys and teams.',
  budget_duration: 'Budgets are of keys and teams.',
  prometheus_initialize_budget_metrics: OBSERVED,
};

export const OF_GENERAL: Readonly<Record<string, string>> = {
  master_key:
    'The admin API and the console have a token of their own, GATEWAY_ADMIN_TOKEN. It is no key for callers: make one with npm run gateway -- keys create.',
  salt_key: 'The gateway has a secret of its own, GATEWAY_SECRET.',
  database_url: DATABASE,
  database_connection_pool_limit: DATABASE,
  database_connection_timeout: DATABASE,
  store_model_in_db: 'Models that LiteLLM keeps in its database are not in its file.',
  store_prompts_in_spend_logs: 'The gateway logs no content unless it is told to.',
  custom_auth: 'Callers have keys of the gateway.',
  enable_jwt_auth: 'Callers have keys of the gateway.',
  litellm_jwtauth: 'Callers have keys of the gateway.',
  key_management_system: 'Secrets are variables of the environment, which a secret manager fills.',
  key_management_settings: 'Secrets are variables of the environment, which a secret manager fills.',
  alerting: ALERTS,
  alerting_threshold: ALERTS,
  alert_types: ALERTS,
  alert_to_webhook_url: ALERTS,
  alerting_args: ALERTS,
  pass_through_endpoints: 'The gateway passes no paths of providers.',
  allowed_routes: 'Keys say which endpoints they may use.',
  ui_access_mode: SIGN_IN,
  max_parallel_requests: 'Keys and teams have concurrentRequests; channels have maxConcurrent.',
  global_max_parallel_requests: 'Keys and teams have concurrentRequests; channels have maxConcurrent.',
  background_health_checks:
    'A channel is tried again when its rest is over: docs/configuration.md#when-a-channel-rests.',
  health_check_interval:
    'A channel is tried again when its rest is over: docs/configuration.md#when-a-channel-rests.',
  proxy_batch_write_at: FOUND,
  completion_model: 'Programs name their model.',
  default_user_id: KEYS,
  max_request_size_mb: 'The bounds of bodies are in docs/configuration.md.',
};

/** Members of which many begin alike. */
export const BY_BEGINNING: readonly (readonly [beginning: string, reason: string])[] = [
  ['supports_', FOUND],
  ['x-', 'Other parts of the file refer to it.'],
  ['litellm_', 'It is of LiteLLM only.'],
  ['alert', ALERTS],
  ['cache', CACHE],
  ['redis_', 'Set REDIS_URL.'],
  ['default_team', KEYS],
  ['database_', DATABASE],
  ['langfuse_', OBSERVED],
];
