import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

export interface Authority extends AsyncDisposable {
  /** Of the authority's own certificate. */
  readonly file: string;
  /** The key and the certificate of a server that has these names. */
  readonly key: string;
  readonly cert: string;
}

/** A certificate authority, as companies have their own, and one server's certificate of it, made by openssl. */
export async function makeAuthority(names: readonly string[]): Promise<Authority> {
  const folder: TemporaryFolder = await temporaryFolder();
  const at = (name: string) => `${folder.path}/${name}`;
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-days',
    '2',
    '-subj',
    '/CN=Company',
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca.pem'),
  );
  openssl('req', ...newKey, '-subj', '/CN=server', '-keyout', at('key'), '-out', at('csr'));
  const alternatives = names.map((name) => `${/^[\d.]+$/.test(name) ? 'IP' : 'DNS'}:${name}`);
  await writeFile(at('ext'), `subjectAltName=${alternatives.join(',')}\n`);
  openssl(
    'x509',
    '-req',
    '-in',
    at('csr'),
    '-CA',
    at('ca.pem'),
    '-CAkey',
    at('ca.key'),
    '-CAcreateserial',
    '-days',
    '2',
    '-extfile',
    at('ext'),
    '-out',
    at('cert'),
  );
  return {
    file: at('ca.pem'),
    key: await readFile(at('key'), 'utf8'),
    cert: await readFile(at('cert'), 'utf8'),
    [Symbol.asyncDispose]: () => folder.close(),
  };
}
