import { GatewayError } from '@gateway/contracts/gateway-error';
import { CLIENT_SECRET_SECONDS, ClientSecretRequest } from '@gateway/contracts/openai/realtime';
import type { ClientSecrets } from '@gateway/metering/keys/client-secret';
import type { Handler } from '@gateway/service-kit/request/handler';
import { readJsonBody } from '@gateway/service-kit/request/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { requestIdOf } from '@gateway/service-kit/request/request-id';
import { validate } from '@gateway/service-kit/request/validate';
import { modelFor } from '@gateway/upstream/model-for';
import type { Upstream } from '@gateway/upstream/upstream';
import { checkSettings } from './session-settings.ts';

interface ClientSecretsService {
  readonly upstream: Upstream;
  readonly clientSecrets: Pick<ClientSecrets, 'seal'>;
  readonly maxJsonDepth: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Far more than fits into a secret. */
const [MAX_BYTES, MAX_VALUES] = [1024 * 1024, 20_000];

/** `POST /v1/realtime/client_secrets`: a secret for one model and its session's settings, which ends with the key that it was made with. */
export const clientSecretsHandler =
  ({ upstream, clientSecrets, maxJsonDepth: maxDepth, now }: ClientSecretsService): Handler =>
  async (request, response) => {
    const context = contextOf(request);
    const identity = identityOf(request);
    const { secretHash } = identity;
    if (secretHash === undefined) throw new Error('a client secret without the hash of its key');
    const { value } = await readJsonBody(request, { maxBytes: MAX_BYTES, maxDepth, maxValues: MAX_VALUES });
    const { session: sent, expires_after: after } = validate(ClientSecretRequest, value);
    const model = modelFor(upstream, { name: sent.model, protocols: ['realtime'], identity });
    const rules = { upstream, identity, modelName: model.name, candidate: null };
    checkSettings(sent, rules);
    const { model: _, ...settings } = sent;
    // It may be absent here, but providers insist on it in the event that the settings are sent with.
    const session = { type: 'realtime', ...settings };
    const expiresAtSeconds = Math.floor(now() / 1000) + (after?.seconds ?? CLIENT_SECRET_SECONDS.usual);
    const secret = clientSecrets.seal({
      ...{ secretHash, model: model.name, session },
      expiresAtMs: expiresAtSeconds * 1000,
    });
    if (secret === undefined) {
      throw new GatewayError('request_too_large', {
        path: ['session'],
        message:
          'The settings of the session are too large for a client secret. Leave out instructions or tools, and send them with session.update.',
      });
    }
    context.line.model = model.name;
    response.setHeader('cache-control', 'no-store');
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        value: secret,
        expires_at: expiresAtSeconds,
        session: {
          object: 'realtime.session',
          ...session,
          ...{ id: requestIdOf(undefined).replace(/^req_/, 'sess_'), model: model.name },
        },
      }),
    );
  };
