import createClient from 'openapi-fetch';
import type { components, paths } from './admin-api.gen.ts';
import { BASE_PATH } from './base-path.ts';

/** What the admin API refused or could not do. `message` is a sentence for the person, which says what to do. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  /** The member of the request that is wrong, such as `limits.tokensPerMinute`; null: none. */
  readonly path: string | null;

  constructor(status: number, error: components['schemas']['Error']['error']) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.path = error.path;
  }
}

const UNREACHABLE = {
  code: 'unreachable',
  message: 'The admin service is not responding. Is the gateway running, and are you online?',
  path: null,
};

/** The calls of the admin API, typed by its description. Each throws an `ApiError` when it does not succeed. */
export const api = createClient<paths>({
  baseUrl: `${BASE_PATH}/`,
  credentials: 'same-origin',
  headers: { accept: 'application/json' },
});

api.use({
  onError: () => new ApiError(0, UNREACHABLE),
  onResponse: async ({ response }) => {
    if (!response.ok) throw new ApiError(response.status, await errorIn(response));
  },
});

async function errorIn(response: Response): Promise<components['schemas']['Error']['error']> {
  const body: unknown = await response.json().catch(() => null);
  if (isErrorBody(body)) return body.error;
  return {
    code: 'unknown',
    message: `The admin service answered with status ${response.status}.`,
    path: null,
  };
}

const isErrorBody = (body: unknown): body is components['schemas']['Error'] =>
  typeof body === 'object' &&
  body !== null &&
  'error' in body &&
  typeof body.error === 'object' &&
  body.error !== null &&
  'message' in body.error;

/** The body of a call's answer. */
export async function bodyOf<T>(call: Promise<{ data?: T }>): Promise<T> {
  const { data } = await call;
  if (data === undefined)
    throw new ApiError(0, { ...UNREACHABLE, message: 'The admin service sent an empty response.' });
  return data;
}
