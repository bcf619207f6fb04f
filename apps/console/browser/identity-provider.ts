import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { freePort } from '@gateway/testkit/free-port';
import { type Configuration, Provider } from 'oidc-provider';

/** An identity provider as companies have one, with a page on which people say who they are. */
export interface TestIdentityProvider {
  /** The name on the button. */
  readonly name: string;
  readonly issuer: string;
  readonly clientSecret: string;
  /** The admin service's settings, at this address; it becomes the only one that people are sent back to. */
  settingsFor(adminUrl: string): Record<string, string>;
  /** Sends the next person nowhere. @returns the address to which it would have been */
  stopNext(): Promise<URL>;
  listen(): Promise<void>;
  close(): Promise<void>;
}

/** The people, by what they type, with their groups. */
const PEOPLE: Readonly<Record<string, readonly string[]>> = {
  ann: ['gateway-admins', 'staff'],
  vera: ['staff'],
  leo: ['lead-search'],
  guest: ['visitors'],
};

const NAME = 'Example login';
const CLIENT_ID = 'gateway';
const INTERACTION = /^\/interaction\/[\w-]+/;
const SCOPES = 'openid email groups';
/** Longer than any test takes. */
const LIFETIME_SECONDS = 3600;

const PAGE = `<!doctype html><html lang="en"><title>Example login</title>
<form method="post"><label>Account <input name="account"></label><button>Continue</button></form></html>`;

/** @returns one that does not listen yet */
export async function createIdentityProvider(): Promise<TestIdentityProvider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const clientSecret = randomBytes(24).toString('base64url');
  let provider: Provider | undefined;
  let server: Server | undefined;
  let stop: ((back: URL) => void) | undefined;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (provider === undefined) throw new Error('the client is not known yet');
    if (!INTERACTION.test(request.url ?? '')) return provider.callback()(request, response);
    if (request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
      return;
    }
    const accountId = new URLSearchParams(await text(request)).get('account') ?? '';
    await provider.interactionFinished(request, response, { login: { accountId } });
  };

  return {
    name: NAME,
    issuer,
    clientSecret,
    settingsFor: (adminUrl) => {
      const redirectUri = `${adminUrl}/admin/v1/session/oidc/callback`;
      provider = new Provider(issuer, configurationOf({ clientSecret, redirectUri }));
      provider.use(async (context, next) => {
        await next();
        const location = context.response.get('location');
        if (stop === undefined || !location.startsWith(redirectUri)) return;
        context.response.remove('location');
        context.body = 'stopped';
        context.status = 200;
        stop(new URL(location));
        stop = undefined;
      });
      return {
        CONSOLE_URL: adminUrl,
        OIDC_ISSUER: issuer,
        OIDC_CLIENT_ID: CLIENT_ID,
        OIDC_CLIENT_SECRET: clientSecret,
        OIDC_NAME: NAME,
        OIDC_SCOPES: SCOPES,
        OIDC_ADMIN_VALUES: 'gateway-admins',
        OIDC_VIEWER_VALUES: 'staff',
        OIDC_TEAM_PREFIX: 'lead-',
      };
    },
    stopNext: () => {
      const { promise, resolve } = Promise.withResolvers<URL>();
      stop = resolve;
      return promise;
    },
    listen: async () => {
      server = createServer((request, response) => void answer(request, response)).listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    close: async () => {
      server?.closeAllConnections();
      server?.close();
      if (server?.listening) await once(server, 'close');
    },
  };
}

interface Client {
  readonly clientSecret: string;
  readonly redirectUri: string;
}

function configurationOf({ clientSecret, redirectUri }: Client): Configuration {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: SCOPES.split(' '),
    // The library prints a notice about each that it has to choose itself.
    ttl: {
      Interaction: LIFETIME_SECONDS,
      Grant: LIFETIME_SECONDS,
      Session: LIFETIME_SECONDS,
      AccessToken: LIFETIME_SECONDS,
      IdToken: LIFETIME_SECONDS,
    },
    pkce: { required: () => true },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({
        sub: accountId,
        email: `${accountId}@example.com`,
        email_verified: true,
        groups: [...(PEOPLE[accountId] ?? [])],
      }),
    }),
    // People are asked who they are, and nothing else.
    loadExistingGrant: async ({ oidc }) => {
      const { client, session } = oidc;
      if (client === undefined || session?.accountId === undefined) return undefined;
      const grant = new oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope(SCOPES);
      await grant.save();
      return grant;
    },
  };
}
