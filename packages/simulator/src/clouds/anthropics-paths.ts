import { asObject, asText } from '../json-value.ts';
import { type AwsGate, refusedByAws } from './aws-gate.ts';
import { behindGate, type Cloud, refusal } from './cloud.ts';

interface AnthropicAwsOptions extends AwsGate {
  readonly workspaceId: string;
}

/** Anthropic's own service behind AWS' gate. */
export const anthropicAws = (options: AnthropicAwsOptions): Cloud => ({
  admit(request) {
    const refused = refusedByAws(request, options);
    if (refused !== null) return refused;
    const { path, headers, body } = request;
    if (headers['anthropic-workspace-id'] !== options.workspaceId)
      return refusal(400, {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'anthropic-workspace-id: header is required' },
      });
    return { path, headers: behindGate(headers, versionOf(headers)), body };
  },
});

interface FoundryOptions {
  readonly apiKeys: readonly string[];
  /** Of Entra ID, for the scope of Foundry. */
  readonly acceptsToken: (token: string) => boolean;
  readonly deployments: readonly string[];
}

/** OpenAI's older paths, which may name the deployment and want a version of the API. */
const OLDER = /^\/openai\/(?!v1\/)(?:deployments\/(?<deployment>[^/]+)\/)?/;

/** Microsoft Foundry: Claude below `/anthropic`, OpenAI's protocols below `/openai`. */
export const foundry = ({ apiKeys, acceptsToken, deployments }: FoundryOptions): Cloud => ({
  admit(request) {
    const { headers } = request;
    const project = /^\/api\/projects\/[^/]+(?=\/openai\/)/.exec(request.path)?.[0] ?? '';
    const path = request.path.slice(project.length);
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
    const key = headers['api-key'] ?? (path.startsWith('/anthropic/') ? headers['x-api-key'] : undefined);
    const isIn =
      token === undefined
        ? project === '' && typeof key === 'string' && apiKeys.includes(key)
        : acceptsToken(token);
    if (!isIn)
      return refusal(401, {
        error: {
          code: '401',
          message:
            'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
        },
      });
    const older = OLDER.exec(path);
    if (older !== null && !request.query.has('api-version'))
      return refusal(404, { error: { code: '404', message: 'Resource not found' } });
    const asked = asObject(request.json());
    const { deployment } = older?.groups ?? {};
    const model = deployment === undefined ? asText(asked.model) : decodeURIComponent(deployment);
    if (!deployments.includes(model))
      return refusal(404, {
        error: {
          code: 'DeploymentNotFound',
          message:
            'The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.',
        },
      });
    if (path.startsWith('/anthropic/'))
      return {
        path: path.slice('/anthropic'.length),
        headers: behindGate(headers, versionOf(headers)),
        body: request.body,
      };
    if (older === null) return { path, headers: behindGate(headers), body: request.body };
    return {
      path: `/v1/${path.slice(older[0].length)}`,
      headers: behindGate(headers),
      body: Buffer.from(JSON.stringify({ ...asked, model })),
    };
  },
});

const versionOf = (headers: Readonly<Record<string, unknown>>) => ({
  'anthropic-version': String(headers['anthropic-version'] ?? ''),
});
