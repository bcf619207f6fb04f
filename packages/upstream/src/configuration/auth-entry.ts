import { isAbsolute } from 'node:path';
import { z } from 'zod';

// Each `error` completes the sentence "found …, expected …".

const text = z.string().min(1);
const Secret = z
  .string()
  .regex(/^[\x21-\x7e]+$/, { error: 'a secret: letters, digits and signs, no spaces' });
/** Read again for every token, so that a rotated file takes effect by itself. */
const FilePath = z.string().refine(isAbsolute, { error: 'an absolute path' });
const isTokenAddress = (address: string): boolean => {
  const url = URL.parse(address);
  if (url === null || url.username !== '' || url.password !== '') return false;
  const isLoopback = url.hostname === '127.0.0.1' || url.hostname === '[::1]' || url.hostname === 'localhost';
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback);
};
const TokenAddress = z.string().refine(isTokenAddress, {
  error: 'a URL with https://, without user and password',
});

/** AWS credentials, which sign every request. Without a profile, keys or a role: the default chain. */
const AwsAuth = z.strictObject({
  type: z.literal('aws'),
  /** What requests are signed for. Default: those of the channel and of its provider. */
  region: text.optional(),
  service: text.optional(),
  profile: text.optional(),
  accessKeyId: Secret.optional(),
  secretAccessKey: Secret.optional(),
  sessionToken: Secret.optional(),
  /** The role that those credentials, or the token in the file, assume. */
  roleArn: z
    .string()
    .regex(/^arn:[\w-]+:iam::\d+:role\/.+$/, { error: 'the ARN of a role: arn:aws:iam::ACCOUNT:role/NAME' })
    .optional(),
  externalId: Secret.optional(),
  sessionName: z
    .string()
    .regex(/^[\w+=,.@-]{2,64}$/, { error: '2 to 64 letters, digits and _ + = , . @ -' })
    .optional(),
  webIdentityTokenFile: FilePath.optional(),
  /** Where the role is assumed. Default: `region`. */
  stsRegion: text.optional(),
});

/** Google credentials. Without a file: the application default credentials. */
const GoogleAuth = z.strictObject({
  type: z.literal('google'),
  credentialsFile: FilePath.optional(),
  /** The service account whose tokens are used. */
  impersonate: text.optional(),
  /** The project that pays for the quota. */
  quotaProject: text.optional(),
  scope: text.optional(),
});

/** Microsoft Entra ID: by a secret, a certificate, a token of another identity provider, or a managed identity. */
const EntraAuth = z.strictObject({
  type: z.literal('entra'),
  tenantId: text.optional(),
  /** Of a managed identity: the user-assigned one. */
  clientId: text.optional(),
  clientSecret: Secret.optional(),
  clientSecretFile: FilePath.optional(),
  /** PEM with the private key and the certificate. */
  certificateFile: FilePath.optional(),
  federatedTokenFile: FilePath.optional(),
  managedIdentity: z.literal(true, { error: 'true, or nothing' }).optional(),
  scope: z
    .string()
    .regex(/^\S+\/\.default$/, { error: 'a scope that ends with /.default' })
    .optional(),
  /** Of a sovereign cloud. */
  authorityHost: TokenAddress.optional(),
});

/** OAuth 2.0 client credentials (RFC 6749, 4.4). */
const OauthAuth = z.strictObject({
  type: z.literal('oauth'),
  tokenUrl: TokenAddress,
  clientId: text.optional(),
  clientSecret: Secret.optional(),
  clientSecretFile: FilePath.optional(),
  /** `basic`: in the authorization header, `body`: as members of the form. */
  clientAuth: z.enum(['basic', 'body']).optional(),
  scope: text.optional(),
  /** Further members of the form; `grant_type` replaces `client_credentials`. */
  parameters: z.record(z.string().min(1), z.string()).optional(),
});

/** Where an account's credentials come from, in place of a key. */
export const AuthEntry = z.discriminatedUnion('type', [AwsAuth, GoogleAuth, EntraAuth, OauthAuth], {
  error: 'a mapping with the type aws, google, entra or oauth',
});
export type AuthEntry = z.infer<typeof AuthEntry>;

/** The same with what the preset and the channel fill in. */
export type AuthSettings =
  | (Omit<z.infer<typeof AwsAuth>, 'region' | 'service'> & {
      readonly region: string;
      readonly service: string;
    })
  | z.infer<typeof GoogleAuth>
  | (Omit<z.infer<typeof EntraAuth>, 'scope'> & { readonly scope: string })
  | z.infer<typeof OauthAuth>;

/** Members of these names are secrets wherever they are. */
export const AUTH_SECRETS = [
  'accessKeyId',
  'secretAccessKey',
  'sessionToken',
  'externalId',
  'clientSecret',
  'parameters',
] as const;

export const secretsOf = (auth: AuthEntry): string[] =>
  AUTH_SECRETS.flatMap((name): string[] => {
    const value: unknown = Reflect.get(auth, name);
    if (typeof value === 'string') return [value];
    return typeof value === 'object' && value !== null ? Object.values(value).map(String) : [];
  });
