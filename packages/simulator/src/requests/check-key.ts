import { ProviderError } from '../replies/provider-error.ts';
import { NAMED_FAULTS } from '../script/fault-table.ts';
import type { Call } from './call.ts';

const INVALID_KEY_PREFIX = 'sk-invalid';
const BEARER = /^Bearer\s+(\S+)$/i;

const masked = (key: string): string => `${key.slice(0, 7)}*****${key.slice(-4)}`;

/**
 * Finds the caller's key in the protocol's header: `Authorization: Bearer`, Anthropic's `x-api-key`, Azure's
 * `api-key`.
 * @throws ProviderError 401 without a key, or with one that is not accepted
 */
export const checkKey = ({ request, dialect, provider }: Call): void => {
  const { headers } = request;
  const bearer = BEARER.exec(headers.authorization ?? '')?.[1];
  const header = headers['x-api-key'] ?? headers['api-key'];
  const key = (typeof header === 'string' ? header : undefined) ?? bearer;
  if (!key) throw new ProviderError(NAMED_FAULTS['no-key'][dialect]);

  const accepted = provider.apiKeys?.includes(key) ?? !key.startsWith(INVALID_KEY_PREFIX);
  if (accepted) return;
  if (dialect === 'anthropic') {
    throw new ProviderError({ status: 401, message: header ? 'invalid x-api-key' : 'Invalid bearer token' });
  }
  throw new ProviderError({
    status: 401,
    message: `Incorrect API key provided: ${masked(key)}. You can find your API key at https://platform.openai.com/account/api-keys.`,
  });
};
