import { ConfigError } from '@gateway/contracts/config-error';

/** Where browsers reach the admin service. */
export interface ConsoleAddress {
  /** The path before `/console/` and `/admin/`, such as `/gw`; empty at the root. */
  readonly basePath: string;
  /** Null without `CONSOLE_URL`. */
  readonly hostName: string | null;
}

const PLAIN_PATH = /^(\/[\w.~-]+)*$/;

/** @throws {ConfigError} for a path that a cookie or a page could not repeat */
export function consoleAddress(consoleUrl: string | undefined): ConsoleAddress {
  if (consoleUrl === undefined) return { basePath: '', hostName: null };
  const { pathname, hostname } = new URL(consoleUrl);
  // Some write the address of the page itself.
  const basePath = pathname.replace(/\/+$/, '').replace(/\/console$/, '');
  if (!PLAIN_PATH.test(basePath))
    throw new ConfigError(
      'The environment is not usable:\n  CONSOLE_URL: its path may have letters, digits, ".", "_", "~" and "-" only',
    );
  return { basePath, hostName: hostname };
}

/** A request's URL below the base path, whether or not the proxy before this service has taken that off. */
export const withoutBasePath = (url: string, basePath: string): string => {
  if (basePath === '' || !url.startsWith(basePath)) return url;
  const rest = url.slice(basePath.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : url;
};
