import { GatewayError } from '@gateway/contracts/gateway-error';
import { fetchBy } from '@gateway/upstream/connecting/fetch-by';
import { DIRECT, type Network } from '@gateway/upstream/connecting/network';
import type { ClientAuth, Configuration, CustomFetch } from 'openid-client';
import { z } from 'zod';
import { type Flow, OIDC_PATH } from './flow-cookie.ts';
import type { OidcSettings } from './oidc-settings.ts';
import { type Claims, hasRoleClaim } from './person-of-claims.ts';
import { SignInRefusal } from './sign-in-refusal.ts';

/** The company's identity provider. */
export interface IdentityProvider {
  /**
   * Where to send the browser, and what it has to bring back.
   *
   * @throws {GatewayError} `upstream_unreachable`
   */
  begin(): Promise<{ readonly url: URL; readonly flow: Pick<Flow, 'state' | 'nonce' | 'verifier'> }>;
  /**
   * What the provider says of the person whom it sent back: its checked ID token, with the profile where that lacks the role.
   *
   * @param query of the address to which the browser was sent back
   * @throws {GatewayError} `invalid_key` for anything that is not the answer to this flow; `upstream_unreachable`
   */
  finish(query: URLSearchParams, flow: Flow): Promise<Claims>;
}

type Library = typeof import('openid-client');

interface Discovered {
  readonly library: Library;
  readonly configuration: Configuration;
  readonly atMs: number;
}

const TIMEOUT_SECONDS = 10;
/** The provider may change its addresses. */
const REMEMBER_MS = 3_600_000;
/** Errors that say that the provider did not answer, or not as one. */
const UNANSWERED = ['OAUTH_TIMEOUT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'];

export function createIdentityProvider(
  settings: OidcSettings,
  network: Network,
  now: () => number,
): IdentityProvider {
  const { issuer, clientId, clientSecret, scopes, consoleUrl, basePath, mapping } = settings;
  const fetchByProxy = fetchBy(network);
  const customFetch: CustomFetch = (url, { method, headers, body, signal }) =>
    fetchByProxy(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      body: body instanceof URLSearchParams || typeof body === 'string' ? body : null,
      signal,
    });
  const redirectUri = new URL(`${basePath}${OIDC_PATH}/callback`, consoleUrl);
  let discovered: Discovered | undefined;
  let discovering: Promise<Discovered> | undefined;

  /** Loads the library with the first use: where no identity provider is set, nobody pays for it. */
  const ask = async (): Promise<Discovered> => {
    const library = await import('openid-client');
    // The token's signature is checked by the provider's keys, though it comes over TLS: what ends TLS on the way is not the provider.
    const { allowInsecureRequests, enableNonRepudiationChecks } = library;
    const insecure = issuer.protocol === 'http:' ? [allowInsecureRequests] : [];
    const execute = [...insecure, enableNonRepudiationChecks];
    // The provider's keys and tokens may be at other hosts than its issuer.
    const byProxy = network === DIRECT ? {} : { [library.customFetch]: customFetch };
    const options = { execute, timeout: TIMEOUT_SECONDS, ...byProxy };
    try {
      const proof = proofOf(library, clientSecret);
      const configuration = await library.discovery(issuer, clientId, undefined, proof, options);
      return { library, configuration, atMs: now() };
    } catch (error) {
      throw issuerMistake(error, issuer) ?? unreachable(error);
    }
  };

  /** Asks once at a time, however many browsers wait: anybody can begin a sign-in. */
  const discover = async (): Promise<Discovered> => {
    if (discovered !== undefined && now() - discovered.atMs < REMEMBER_MS) return discovered;
    discovering ??= ask().finally(() => {
      discovering = undefined;
    });
    discovered = await discovering;
    return discovered;
  };

  const claimsOf = async (
    { library, configuration }: Discovered,
    query: URLSearchParams,
    { state, nonce, verifier }: Flow,
  ): Promise<Claims> => {
    const url = new URL(redirectUri);
    url.search = query.toString();
    const tokens = await library.authorizationCodeGrant(configuration, url, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error('the identity provider sent no ID token');
    const hasProfile = configuration.serverMetadata().userinfo_endpoint !== undefined;
    if (hasRoleClaim(claims, mapping) || !hasProfile) return claims;
    return { ...(await library.fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims };
  };

  return {
    async begin() {
      const { library, configuration } = await discover();
      const flow = {
        state: library.randomState(),
        nonce: library.randomNonce(),
        verifier: library.randomPKCECodeVerifier(),
      };
      const url = library.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri.href,
        scope: scopes,
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await library.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: 'S256',
      });
      return { url, flow };
    },

    async finish(query, flow) {
      const found = await discover();
      try {
        return await claimsOf(found, query, flow);
      } catch (error) {
        throw isUnanswered(error, found.library) ? unreachable(error) : refused(error);
      }
    },
  };
}

/**
 * How the client proves who it is: in the body where the provider takes that, since providers read special characters of a secret
 * in a header in several ways. One that lists no methods takes the header only.
 *
 * @see https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata `token_endpoint_auth_methods_supported`
 */
function proofOf({ ClientSecretBasic, ClientSecretPost }: Library, clientSecret: string): ClientAuth {
  const [post, basic] = [ClientSecretPost(clientSecret), ClientSecretBasic(clientSecret)];
  return (server, client, body, headers) => {
    const takesPost = server.token_endpoint_auth_methods_supported?.includes('client_secret_post') ?? false;
    return (takesPost ? post : basic)(server, client, body, headers);
  };
}

/** `fetch` fails with a `TypeError`. */
const isUnanswered = (error: unknown, { ClientError, ResponseBodyError }: Library): boolean =>
  error instanceof TypeError ||
  (error instanceof ClientError && UNANSWERED.includes(error.code ?? '')) ||
  (error instanceof ResponseBodyError && error.status >= 500);

const OtherIssuer = z.object({
  code: z.literal('OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'),
  cause: z.object({ attribute: z.literal('issuer'), body: z.object({ issuer: z.string() }) }),
});
const NotThere = z.object({ cause: z.object({ status: z.literal(404) }) });

/** What is wrong with `OIDC_ISSUER` where the provider does answer: another slash at its end is another issuer. */
function issuerMistake(error: unknown, issuer: URL): SignInRefusal | undefined {
  const other = OtherIssuer.safeParse(error).data?.cause.body.issuer;
  const mistake =
    other !== undefined
      ? `The identity provider's issuer is '${other}', but OIDC_ISSUER is '${issuer.href}'. Set OIDC_ISSUER to exactly the former.`
      : NotThere.safeParse(error).success
        ? `There is no identity provider at OIDC_ISSUER '${issuer.href}': its configuration page answers 404.`
        : undefined;
  if (mistake === undefined) return undefined;
  return new SignInRefusal('wrong-issuer', 'upstream_unreachable', mistake);
}

const unreachable = (cause: unknown): GatewayError =>
  new GatewayError('upstream_unreachable', { message: 'The identity provider is not responding.', cause });

const refused = (cause: unknown): GatewayError =>
  new GatewayError('invalid_key', {
    message: 'The identity provider did not confirm this sign-in. Start again.',
    cause,
  });
