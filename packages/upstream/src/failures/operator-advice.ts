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
    code: 'InvalidSignatureException',
    advice: "check the channel's region, this machine's clock, and that nothing on the way rewrites requests",
  },
  { code: 'UnrecognizedClientException', advice: 'check the access key: AWS does not know it' },
  { code: 'InvalidClientTokenId', advice: 'check the access key: AWS does not know it' },
  { code: 'ExpiredTokenException', advice: 'use a source that renews its keys: auth without accessKeyId' },
  {
    words: /project\/default/,
    advice: 'allow bedrock:InvokeModel on arn:aws:bedrock:*:*:project/default as well',
  },
  {
    words: /use case details|don['’]t have access to the model|not authorized to invoke this model/i,
    advice: 'request access to the model in the console of Bedrock, in this region',
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
