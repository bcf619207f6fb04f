import { ConfigError } from '@gateway/contracts/config-error';
import type { AdminConfig } from '../../config.ts';
import { consoleAddress } from '../../console/console-address.ts';

/** How people sign in through the company's identity provider, by OpenID Connect. */
export interface OidcSettings {
  /** As the button says it: "Sign in with NAME". */
  readonly name: string;
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: string;
  /** Where the browser reaches this service; the redirect URI begins with it. */
  readonly consoleUrl: URL;
  /** The path below which the proxy has this service. */
  readonly basePath: string;
  /** Whether that is over TLS. */
  readonly isSecure: boolean;
  readonly mapping: RoleMapping;
}

/** Which values of which claim stand for which role, besides the rules of the console. */
export interface RoleMapping {
  readonly roleClaim: string;
  readonly adminValues: readonly string[];
  readonly viewerValues: readonly string[];
  /** Null: nobody is a team lead. */
  readonly teams: {
    readonly claim: string;
    /** What follows it is a team's name; values without it count for nothing. */
    readonly prefix: string;
  } | null;
}

const THIS_MACHINE = ['127.0.0.1', '[::1]', 'localhost'];
const OPTIONAL = [
  'OIDC_CLIENT_ID',
  'OIDC_CLIENT_SECRET',
  'OIDC_ADMIN_VALUES',
  'OIDC_VIEWER_VALUES',
  'OIDC_TEAM_CLAIM',
  'OIDC_TEAM_PREFIX',
] as const;

/**
 * Null where no identity provider is set.
 *
 * @throws {ConfigError} for settings that do not fit together, naming them
 */
export function oidcSettings(config: AdminConfig): OidcSettings | null {
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, CONSOLE_URL } = config;
  const { OIDC_ADMIN_VALUES, OIDC_VIEWER_VALUES, OIDC_TEAM_CLAIM, OIDC_TEAM_PREFIX, OIDC_ROLE_CLAIM } =
    config;
  if (OIDC_ISSUER === undefined) {
    const alone = OPTIONAL.find((name) => isSet(config[name]));
    if (alone === undefined) return null;
    throw wrong(`${alone} is set, and OIDC_ISSUER is not. Set both, or neither.`);
  }
  if (OIDC_CLIENT_ID === undefined || OIDC_CLIENT_SECRET === undefined || CONSOLE_URL === undefined)
    throw wrong(
      'OIDC_ISSUER also needs OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and CONSOLE_URL, where browsers reach the console.',
    );
  const issuer = new URL(OIDC_ISSUER);
  const consoleUrl = new URL(CONSOLE_URL);
  if (issuer.protocol !== 'https:' && !THIS_MACHINE.includes(issuer.hostname))
    throw wrong('OIDC_ISSUER must be an https URL, unless it is on this machine.');
  const hasTeams = OIDC_TEAM_CLAIM !== undefined || OIDC_TEAM_PREFIX !== undefined;
  return {
    name: config.OIDC_NAME,
    issuer,
    clientId: OIDC_CLIENT_ID,
    clientSecret: OIDC_CLIENT_SECRET,
    scopes: config.OIDC_SCOPES,
    consoleUrl,
    basePath: consoleAddress(CONSOLE_URL).basePath,
    isSecure: consoleUrl.protocol === 'https:',
    mapping: {
      roleClaim: OIDC_ROLE_CLAIM,
      adminValues: OIDC_ADMIN_VALUES,
      viewerValues: OIDC_VIEWER_VALUES,
      teams: hasTeams ? { claim: OIDC_TEAM_CLAIM ?? OIDC_ROLE_CLAIM, prefix: OIDC_TEAM_PREFIX ?? '' } : null,
    },
  };
}

const isSet = (value: string | readonly string[] | undefined): boolean =>
  value !== undefined && value.length > 0;

const wrong = (message: string): ConfigError =>
  new ConfigError(`The environment is not usable:\n  ${message}`);
