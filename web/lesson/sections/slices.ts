// Long work in slices, so that the page answers in between.

/** Resolves in a task of its own: input and drawing come first. */
export function breath(): Promise<void> {
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(0);
  });
}

/** True once `ms` have passed since it was made, or since the last `again`. */
export class Slice {
  private start = performance.now();

  constructor(private readonly ms: number) {}

  get over(): boolean {
    return performance.now() - this.start > this.ms;
  }
  async rest(): Promise<void> {
    await breath();
    this.start = performance.now();
  }
}
