import type { ProviderError } from './provider-error.ts';

interface AdviceRow {
  /** The provider's code or type. */
  readonly code?: string;
  readonly status?: number;
  readonly words?: RegExp;
  readonly advice: string;
}

/** What an operator does about errors of clouds whose own words do not say it. The first row that fits. */
const ROWS: readonly AdviceRow[] = [
  {
    words: /on-demand throughput isn['’]t supported/i,
    advice: "put a geography before the model's id in the route, such as eu. or global.",
  },
  {
    words: /model identifier is invalid|isn['’]t supported on this route/i,
    advice: "check the model's id in the route, and the channel's region and endpoint",
  },
  {
    words: /Credential should be scoped to/i,
    advice: "check the channel's region, and leave auth.service out unless the address is another service's",
  },
  {
    words: /signature we calculated does not match/i,
    advice:
      "check the secret access key, which does not fit the access key; else the channel's region, and that nothing on the way rewrites requests",
  },
  { words: /signature (?:expired|not yet current)/i, advice: "set this machine's clock right" },
  {
    code: 'InvalidSignatureException',
    advice: "check the channel's region, this machine's clock, and that nothing on the way rewrites requests",
  },
  { code: 'UnrecognizedClientException', advice: 'check the access key: AWS does not know it' },
  { code: 'InvalidClientTokenId', advice: 'check the access key: AWS does not know it' },
  { code: 'ExpiredTokenException', advice: 'use a source that renews its keys: auth without accessKeyId' },
  {
    words: /make sure your API key is valid/i,
    advice:
      "check the channel's apiKey: a key of Bedrock is for one account, and one that begins with bedrock-api-key- for 12 hours at most",
  },
  {
    words: /bedrock:CallWithBearerToken/,
    advice: "allow bedrock:CallWithBearerToken to the key's user, or use auth: { type: aws }",
  },
  {
    words: /anthropic-workspace-id|workspace .{0,60}not found/i,
    advice: "check the channel's workspaceId",
  },
  {
    words: /project\/default/,
    advice: 'allow bedrock:InvokeModel on arn:aws:bedrock:*:*:project/default as well',
  },
  {
    words: /use case details|don['’]t have access to the model|not authorized to invoke this model/i,
    advice: 'request access to the model in the console of Bedrock, in this region',
  },
  {
    words: /not authorized to perform: (?:bedrock|aws-external-anthropic)/,
    advice:
      "allow that action in the role's policy, for the profile in the route and for the models behind it",
  },
  {
    words: /end of its life/i,
    advice: "put a newer model's id into the route",
  },
  {
    words: /too many tokens, please wait/i,
    advice: "lower the model's maxOutputTokens, which AWS reserves, or request a larger quota",
  },
  { code: 'ServiceQuotaExceededException', advice: 'request a larger quota of this model in this region' },
  {
    code: 'DeploymentNotFound',
    advice: "check the deployment's name in the route; a new deployment takes some minutes",
  },
  {
    words: /audience is (?:incorrect|invalid)|invalid audience/i,
    advice: 'set auth.scope to that audience, with /.default at its end',
  },
  {
    words: /lacks the required data action|PermissionDenied/,
    advice:
      'give the identity the role Azure AI User, or Cognitive Services OpenAI User, on the resource; a new role takes some minutes',
  },
  { code: 'AuthenticationTypeDisabled', advice: 'the resource takes no keys: use auth: { type: entra, … }' },
  {
    words: /invalid subscription key or wrong API endpoint/i,
    advice: "check the channel's resource, and its apiKey or auth.scope; a new role takes some minutes",
  },
  {
    words: /virtual network\/firewall rules/i,
    advice:
      "allow this machine's address in the resource's network rules, or set the channel's baseUrl to its private endpoint",
  },
  {
    words: /public access is disabled/i,
    advice: "set the channel's baseUrl to the resource's private endpoint, which this machine has to reach",
  },
  {
    words: /operation does not work with the specified model/i,
    advice: "set the route's speaks to what the deployment's model speaks",
  },
  {
    words: /aiplatform\.[\w.]+['’]? denied/,
    advice:
      "check the channel's project and location, and give the identity the role roles/aiplatform.user there",
  },
  {
    words: /has not been used in project|SERVICE_DISABLED/,
    advice: "switch on the Vertex AI API in the channel's project",
  },
  {
    status: 404,
    words: /publisher model|was not found or your project does not have access/i,
    advice:
      "check the model's name in the route, the channel's location, and that the project has accepted the model's terms",
  },
];

/** Empty where the provider's own words have to do. */
export const operatorAdvice = (status: number, { code, type, message }: ProviderError): string =>
  ROWS.find(
    (row) =>
      (row.code === undefined || row.code === code || row.code === type) &&
      (row.status === undefined || row.status === status) &&
      (row.words === undefined || row.words.test(message)),
  )?.advice ?? '';
