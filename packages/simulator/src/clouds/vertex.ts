import { asList, asObject, isObject } from '../json-value.ts';
import type { Reply } from '../replies/reply.ts';
import { type Admitted, behindGate, type Cloud, refusal, refusedByModel } from './cloud.ts';
import { type RefusedParts, refusedPart } from './refused-parts.ts';

export interface VertexOptions {
  readonly project: string;
  readonly location: string;
  readonly acceptsToken: (token: string) => boolean;
}

/** The documented version, and the one that Anthropic's own client writes since November 2026. */
const VERSIONS: readonly unknown[] = ['vertex-2023-10-16', '2026-10-21'];

/** Google's own clients call the second one, where previews appear first. */
const VERSION_OF_PATH = /^\/v1(?:beta1)?(?=\/)/;

const REFUSED: RefusedParts = {
  betas: [
    'prompt-caching-scope-2026-01-05',
    'effort-2025-11-24',
    'web-search-2025-03-05',
    'oauth-2025-04-20',
  ],
  members: [
    'output_format',
    'inference_geo',
    'fallbacks',
    'mcp_servers',
    'container',
    'cache_control.scope',
    'system.*.cache_control.scope',
    'tools.*.cache_control.scope',
    'messages.*.content.*.cache_control.scope',
  ],
  tools: ['web_search', 'web_fetch', 'code_execution'],
};

const google = (code: number, status: string, message: string): Reply =>
  refusal(code, { error: { code, message, status } });

/** Unlike the Gemini API, Vertex AI wants a role in every content. */
const unknownRole = (contents: unknown): boolean =>
  asList(contents).some((content) => !['user', 'model'].includes(String(asObject(content).role)));

/** Claude, Gemini, Imagen and Chat Completions on Vertex AI. */
export const vertex = ({ project, location, acceptsToken }: VertexOptions): Cloud => ({
  admit(request): Admitted | Reply {
    const { path, headers, body, query } = request;
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
    if (token === undefined || !acceptsToken(token))
      return google(
        401,
        'UNAUTHENTICATED',
        'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
      );
    const base = `${VERSION_OF_PATH.exec(path)?.[0] ?? ''}/projects/${project}/locations/${location}`;
    if (!path.startsWith(`${base}/`))
      return google(
        403,
        'PERMISSION_DENIED',
        `Permission 'aiplatform.endpoints.predict' denied on resource '${path}'.`,
      );
    const [unknown] = [...query.keys()].filter((name) => name !== 'alt');
    if (unknown !== undefined)
      return google(
        400,
        'INVALID_ARGUMENT',
        `Invalid JSON payload received. Unknown name "${unknown}": Cannot bind query parameter.`,
      );
    const rest = path.slice(base.length);
    if (rest === '/endpoints/openapi/chat/completions')
      return { path: '/v1/chat/completions', headers: behindGate(headers), body };
    if (rest === '/publishers/openai/v1/responses')
      return { path: '/v1/responses', headers: behindGate(headers), body };
    const [, ofGoogle] = /^\/publishers\/google(\/models\/[^/]+)$/.exec(rest) ?? [];
    if (ofGoogle !== undefined)
      return unknownRole(asObject(request.json()).contents)
        ? google(400, 'INVALID_ARGUMENT', 'Please use a valid role: user, model.')
        : { path: `/v1beta${ofGoogle}`, headers: behindGate(headers), body };
    const found = /^\/publishers\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/.exec(rest);
    if (found === null) return google(404, 'NOT_FOUND', `Not found: ${path}`);
    return claude(found[1] ?? '', found[2] === 'streamRawPredict');
    function claude(model: string, streams: boolean): Admitted | Reply {
      const parsed = request.json();
      if (!isObject(parsed)) return google(400, 'INVALID_ARGUMENT', 'The request has no object.');
      const { anthropic_version: version, ...message } = parsed;
      if (!VERSIONS.includes(version))
        return refusedByModel(`anthropic_version: Input should be '${VERSIONS[0]}'`);
      const counts = model === 'count-tokens';
      if (counts && headers['anthropic-beta'] !== undefined)
        return refusedByModel('Unexpected value(s) for the `anthropic-beta` header.');
      if (!counts && 'model' in message) return refusedByModel('model: Extra inputs are not permitted');
      if (!counts && (asObject(message).stream === true) !== streams)
        return google(400, 'INVALID_ARGUMENT', 'The member stream does not fit the method.');
      const refused = refusedPart(request, message, REFUSED);
      if (refused !== null) return refused;
      return {
        path: counts ? '/v1/messages/count_tokens' : '/v1/messages',
        headers: behindGate(headers),
        body: Buffer.from(
          JSON.stringify(counts ? message : { ...message, model: decodeURIComponent(model) }),
        ),
      };
    }
  },
});
