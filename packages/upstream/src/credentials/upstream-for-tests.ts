import { onTestFinished } from 'vitest';
import { withCertificates } from '../configuration/load-configuration.ts';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import type { Attempt } from '../replies/reply.ts';
import { createUpstream, type Upstream } from '../upstream.ts';
import type { CredentialReport } from './credential-sources.ts';

export interface AuthorizedUpstream {
  readonly upstream: Upstream;
  readonly reports: CredentialReport[];
  readonly attempts: Attempt[];
  /** Milliseconds since 1970, which credentials go by. */
  nowMs: number;
}

interface Options {
  readonly fetchMs?: number;
  readonly nowMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** YAML flow members of each channel. */
  readonly settings?: string;
}

/** An upstream whose model `small` is served by these channels in their order, with credentials by `auth` (YAML). */
export async function startAuthorized(
  channels: Readonly<Record<string, { origin: string; auth?: string; provider?: string; speaks?: string }>>,
  { fetchMs = 300_000, nowMs = Date.now(), env = {}, settings = '' }: Options = {},
): Promise<AuthorizedUpstream> {
  const entries = Object.entries(channels);
  const lines = entries.map(
    ([name, { origin, auth, provider = 'openai', speaks = '[responses, chat]' }]) =>
      `  ${name}: { provider: ${provider}, speaks: ${speaks}, baseUrl: "${origin}/v1", ${auth === undefined ? '' : `auth: ${auth}, `}${settings} }`,
  );
  const routes = entries.map(([name], index) => `{ channel: ${name}, model: large, priority: ${index} }`);
  const text = ['channels:', ...lines, 'models:', `  small: { kind: text, routes: [${routes}] }`].join('\n');
  const path = 'gateway.yaml';
  const configuration = await withCertificates(parseConfiguration(text, path, env), { path, env });
  const fixture = { reports: [] as CredentialReport[], attempts: [] as Attempt[], nowMs };
  const upstream = createUpstream({
    configuration,
    credentials: { now: () => fixture.nowMs, fetchMs },
    onCredentials: (report) => fixture.reports.push(report),
    onAttempt: (attempt) => fixture.attempts.push(attempt),
  });
  onTestFinished(() => upstream.destroy());
  return Object.assign(fixture, { upstream });
}
