/** What is done at the same time, and how much of it. The first failure of any of it is what all that wait for it get. */
export class Underway {
  #size = 0;
  #failure: { readonly error: unknown } | null = null;
  #ended = Promise.withResolvers<void>();

  get size(): number {
    return this.#size;
  }

  /** Resolves and rejects as the work does. */
  add(work: Promise<void>): Promise<void> {
    this.#size += 1;
    const end = () => {
      this.#size -= 1;
      this.#ended.resolve();
      this.#ended = Promise.withResolvers();
    };
    work.then(end, (error: unknown) => {
      this.#failure ??= { error };
      end();
    });
    return work;
  }

  /** Resolves when another one has ended. @throws the first failure */
  async oneEnded(): Promise<void> {
    if (this.#failure === null && this.#size > 0) await this.#ended.promise;
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Resolves when all have ended, however that was. */
  async settled(): Promise<void> {
    while (this.#size > 0) await this.#ended.promise;
  }
}
