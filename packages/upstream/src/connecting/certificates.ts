import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

const IS_CERTIFICATE = /-----BEGIN CERTIFICATE-----/;

/** Own certificate authorities, from a file that is read when the configuration is. */
export class Certificates {
  readonly file: string;
  /** What was read. */
  text = '';
  #context: SecureContext | null = null;

  constructor(file: string) {
    this.file = file;
  }

  /** @throws {Error} what is wrong with the file */
  async load(read: (path: string) => Promise<string>): Promise<void> {
    const text = await read(this.file);
    this.text = text;
    if (!IS_CERTIFICATE.test(text)) throw new Error('it holds no certificate');
    this.#context = createSecureContext({ ca: [...getCACertificates('default'), text] });
  }

  /** One for all connections: it takes milliseconds to make. */
  get context(): SecureContext {
    if (this.#context === null) throw new Error(`the certificates of ${this.file} have not been read`);
    return this.#context;
  }
}
