import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Configuration, INetworkModule, NetworkResponse } from '@azure/msal-node';
import type { AuthSettings } from '../../configuration/auth-entry.ts';
import { fetchBy } from '../../connecting/fetch-by.ts';
import { DIRECT } from '../../connecting/network.ts';
import type { TokenWay } from '../credential-source.ts';
import type { Fetched } from '../renewed-value.ts';
import { secretOf } from './client-secret.ts';

type EntraSettings = Extract<AuthSettings, { type: 'entra' }>;

const PUBLIC_AUTHORITY = 'https://login.microsoftonline.com';

/** A token of Entra ID, by Microsoft's package, whose own store of tokens is not used. */
export async function fetchEntraToken(settings: EntraSettings, way: TokenWay): Promise<Fetched<string>> {
  const { clientId, managedIdentity, scope } = settings;
  const { ConfidentialClientApplication, ManagedIdentityApplication } = await import('@azure/msal-node');
  if (managedIdentity) {
    // Its endpoint is on this machine or link-local: no proxy leads there.
    const system = {
      networkClient: networkClient({ ...way, network: DIRECT }),
      disableInternalRetries: true,
    };
    const managedIdentityIdParams = clientId === undefined ? {} : { userAssignedClientId: clientId };
    const application = new ManagedIdentityApplication({ system, managedIdentityIdParams });
    const resource = scope.slice(0, -'/.default'.length);
    return tokenIn(await application.acquireToken({ resource, forceRefresh: true }));
  }
  const application = new ConfidentialClientApplication({
    auth: await applicationOf(settings),
    system: { networkClient: networkClient(way), disableInternalRetries: true },
  });
  return tokenIn(await application.acquireTokenByClientCredential({ scopes: [scope], skipCache: true }));
}

/** Secrets, certificates and assertions are read for every token: they rotate. */
async function applicationOf(settings: EntraSettings): Promise<Configuration['auth']> {
  const { tenantId = '', clientId = '', certificateFile, federatedTokenFile } = settings;
  const authorityHost = new URL(settings.authorityHost ?? PUBLIC_AUTHORITY);
  const shared = {
    clientId,
    authority: new URL(tenantId, authorityHost).href,
    knownAuthorities: [authorityHost.host],
  };
  if (federatedTokenFile !== undefined)
    return { ...shared, clientAssertion: (await readFile(federatedTokenFile, 'utf8')).trim() };
  if (certificateFile !== undefined) {
    const pem = await readFile(certificateFile, 'utf8');
    const thumbprintSha256 = new X509Certificate(pem).fingerprint256.replaceAll(':', '');
    return { ...shared, clientCertificate: { thumbprintSha256, privateKey: privateKeyIn(pem), x5c: pem } };
  }
  return { ...shared, clientSecret: (await secretOf(settings)) ?? '' };
}

function privateKeyIn(pem: string): string {
  const [key] = /-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]+?-----END \1-----/.exec(pem) ?? [];
  if (key === undefined) throw new Error('the certificate file has no private key');
  return key;
}

function tokenIn(result: { accessToken: string; expiresOn: Date | null } | null): Fetched<string> {
  if (result === null) throw new Error('Entra ID answered without a token');
  return { value: result.accessToken, expiresAtMs: result.expiresOn?.getTime() ?? null };
}

/** The requests of Microsoft's package, by the channel's way out. */
function networkClient({ network, signal }: TokenWay): INetworkModule {
  const fetch = fetchBy(network);
  const send = async <Body>(
    method: 'GET' | 'POST',
    url: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
  ): Promise<NetworkResponse<Body>> => {
    const answer = await fetch(url, { method, headers, body, signal });
    return {
      headers: Object.fromEntries(answer.headers),
      body: JSON.parse(await answer.text()),
      status: answer.status,
    };
  };
  return {
    sendGetRequestAsync: (url, options) => send('GET', url, options),
    sendPostRequestAsync: (url, options) => send('POST', url, options),
  };
}
