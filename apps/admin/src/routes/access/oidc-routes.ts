import { GatewayError } from '@gateway/contracts/gateway-error';
import type { GroupRule, PersonRecord } from '@gateway/records/people/people-store';
import type { Logger } from '@gateway/service-kit/logger';
import type { Request } from 'express';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY, redirectRoute } from '../../api/admin-route.ts';
import { SignInReply } from '../../api/schemas/access.ts';
import type { AddressOf } from '../../sessions/client-address.ts';
import { type FlowCookies, OIDC_PATH } from '../../sessions/oidc/flow-cookie.ts';
import type { IdentityProvider } from '../../sessions/oidc/identity-provider.ts';
import type { RoleMapping } from '../../sessions/oidc/oidc-settings.ts';
import {
  type Claims,
  hasTooManyGroups,
  personOf,
  verifiedEmail,
} from '../../sessions/oidc/person-of-claims.ts';
import { type SignInProblem, SignInRefusal } from '../../sessions/oidc/sign-in-refusal.ts';
import type { SessionCookies } from '../../sessions/session-cookie.ts';
import { type Person, reasonOf, type SignIn } from '../../sessions/sign-in.ts';
import type { SignInMetrics, SignInOutcome } from '../../sessions/sign-in-metrics.ts';

interface OidcRoutesOptions {
  /** The path below which browsers see this service. */
  readonly basePath: string;
  /** Null: no identity provider is set. */
  readonly oidc: {
    readonly name: string;
    readonly provider: IdentityProvider;
    readonly mapping: RoleMapping;
    readonly flows: FlowCookies;
    /** Whether browsers reach this service over TLS. */
    readonly isSecure: boolean;
  } | null;
  readonly people: {
    isAny(): Promise<boolean>;
    findByEmail(email: string): Promise<PersonRecord | undefined>;
    listRules(): Promise<readonly GroupRule[]>;
  };
  readonly cookies: SessionCookies;
  readonly signIn: SignIn;
  readonly addressOf: AddressOf;
  readonly maxSeconds: number;
  readonly logger: Logger;
  readonly metrics: SignInMetrics;
}

interface Refusal {
  readonly request: Request;
  readonly requestId: string | null;
  readonly error: unknown;
  readonly outcome: SignInOutcome;
}

type Oidc = NonNullable<OidcRoutesOptions['oidc']>;

/** What the sign-in page says when a person comes back without a session. */
const PROBLEMS: Readonly<Partial<Record<GatewayError['code'], SignInProblem>>> = {
  missing_key: 'expired',
  invalid_key: 'refused',
  endpoint_not_allowed: 'no-role',
  rate_limited: 'limited',
  upstream_unreachable: 'unreachable',
  service_unavailable: 'failed',
};

/**
 * A path below `/console`, with a query: whatever decodes it on the way, the browser stays there. No part is empty or made of dots,
 * and nothing stands for a slash, a backslash or a dot.
 */
const PAGE =
  /^(?=\/)(?:(?!\/\/|\/\.\.?(?:[/?#]|$)|\\|%(?:2e|2f|5c|00))[\x21\x22\x24-\x3e\x40-\x7e])*(?:[?#][\x21-\x7e]*)?$/i;
const To = z.string().max(2000).regex(PAGE, 'it must be a path of the console').default('/');

/**
 * Sign in through the identity provider. The way back comes from another site, so the browser sends the session's cookie, which is
 * Strict, with none of its redirects; it need not: the console's page is open to all, and its own calls send the cookie.
 */
export function oidcRoutes({
  basePath,
  oidc,
  people,
  cookies,
  signIn,
  addressOf,
  maxSeconds,
  logger,
  metrics,
}: OidcRoutesOptions): AdminRoute[] {
  /** Resolves to where the browser goes; a refusal leads to the sign-in page, which says why. */
  const orSignInPage = async (attempt: () => Promise<string>): Promise<string> => {
    try {
      return await attempt();
    } catch (error) {
      const problem = problemOf(error);
      if (problem === undefined) throw error;
      return `${basePath}/console/sign-in?problem=${problem}`;
    }
  };

  /** A person that was disabled here does not come in by the provider. */
  const checkEnabled = async (claims: Claims): Promise<void> => {
    const email = verifiedEmail(claims);
    if (email === undefined || (await people.findByEmail(email))?.isDisabled !== true) return;
    throw new SignInRefusal('disabled', 'endpoint_not_allowed', 'This person is disabled here.');
  };

  const refuse = ({ request, requestId, error, outcome }: Refusal): never => {
    metrics.signIn({ method: 'oidc', outcome });
    const reason = reasonOf(error);
    logger.warn(
      { address: addressOf(request), method: 'oidc', outcome, requestId, reason },
      'sign-in refused',
    );
    throw error;
  };

  return [
    adminRoute({
      method: 'GET',
      path: '/admin/v1/sign-in',
      summary: 'How people can sign in, besides the admin token and a key',
      query: NO_QUERY,
      body: NO_BODY,
      reply: SignInReply,
      // The other ways work without the database.
      handle: async () => ({
        oidc: oidc && { name: oidc.name },
        password: await people.isAny().catch(() => false),
      }),
    }),
    redirectRoute({
      path: OIDC_PATH,
      summary:
        'Redirect the browser to the identity provider to sign in; `to` is the console page to open afterwards',
      query: z.strictObject({ to: To }),
      handle: ({ query: { to }, request, by: { requestId }, setHeader }) => {
        const { provider, flows } = configured(oidc);
        return orSignInPage(async () => {
          try {
            const { url, flow } = await provider.begin();
            setHeader('set-cookie', flows.create({ ...flow, to }));
            return url.href;
          } catch (error) {
            return refuse({ request, requestId, error, outcome: 'failed' });
          }
        });
      },
    }),
    redirectRoute({
      path: `${OIDC_PATH}/callback`,
      summary: 'Where the identity provider redirects the browser to: sets a session cookie',
      query: z.looseObject({}),
      handle: ({ request, by: { requestId }, setHeader }) => {
        const { provider, mapping, flows, isSecure } = configured(oidc);
        const query = new URL(request.url, 'http://localhost').searchParams;
        const flow = flows.read(request.headers.cookie);
        // A flow is good for one way back.
        setHeader('set-cookie', flows.clear());
        return orSignInPage(async () => {
          // Not counted as an attempt of the address: any page can send a browser here.
          if (flow === undefined || query.get('state') !== flow.state)
            return refuse({ request, requestId, error: unexpected(), outcome: 'refused' });
          const identify = async (): Promise<Person> => {
            const claims = await provider.finish(query, flow);
            await checkEnabled(claims);
            return roleOf(claims, mapping, await people.listRules());
          };
          const session = await signIn({ method: 'oidc', request, requestId, identify });
          const cookie = cookies.create(session.id, { isSecure, maxAgeSeconds: maxSeconds });
          setHeader('set-cookie', [flows.clear(), cookie]);
          return `${basePath}/console${flow.to}`;
        });
      },
    }),
  ];
}

function problemOf(error: unknown): SignInProblem | undefined {
  if (error instanceof SignInRefusal) return error.problem;
  return error instanceof GatewayError ? PROBLEMS[error.code] : undefined;
}

function configured(oidc: Oidc | null): Oidc {
  if (oidc !== null) return oidc;
  throw new GatewayError('object_not_found', 'No identity provider is configured: OIDC_ISSUER is not set.');
}

function roleOf(claims: Claims, mapping: RoleMapping, rules: readonly GroupRule[]): Person {
  const person = personOf(claims, mapping, rules);
  if (person !== null) return person;
  if (hasTooManyGroups(claims, mapping))
    throw new SignInRefusal(
      'too-many-groups',
      'endpoint_not_allowed',
      'The identity provider omitted the groups from the token because the person is in too many. Have it send only the groups that are assigned to the application, or send application roles and set OIDC_ROLE_CLAIM to roles.',
    );
  throw new GatewayError(
    'endpoint_not_allowed',
    'The identity provider knows you, but you have no role here.',
  );
}

const unexpected = (): GatewayError =>
  new GatewayError('missing_key', 'This browser did not start this sign-in, or started it too long ago.');
