// For `before` of openLesson: an engine whose every result is wrong. A number that stays is not the engine's.

// Each result of the engine is changed by a number that grows from call to call, so that differences of
// results change too.
export const kChangedEngine = `
  let calls = 0;
  const moved = (values) => values.map((x) => x + 1000 * ++calls);
  const change = (result) => {
    if (typeof result === 'number') return result + 1000 * ++calls;
    if (ArrayBuffer.isView(result)) return moved(result);
    if (Array.isArray(result)) return result.map(change);
    if (typeof result === 'function') return (...args) => change(result(...args));
    if (result && typeof result === 'object') {
      const kept = ['rows', 'columns', 'key', 'live', 'firstKey', 'endKey', 'labels', 'nearOf', 'alikeOf'];
      return Object.fromEntries(Object.entries(result).map(([k, v]) =>
        [k, kept.includes(k) || typeof v === 'boolean' ? v : change(v)]));
    }
    return result;
  };
  window.qkvTestEngine = (engine) => new Proxy(engine, {
    get(target, name) {
      const member = target[name];
      if (typeof member !== 'function' || name === 'generator') return typeof member === 'function' ? member.bind(target) : member;
      // Weights that were changed are none any more, and the engine refuses them.
      const weights = (row) => row.map((x) => Math.abs(x) % 1);
      // A training is an object of functions that know it.
      const own = (result) => name !== 'training' ? result : Object.fromEntries(
        ['step', 'steps', 'loss', 'look', 'evaluate', 'parameters', 'free'].map((f) => [f, result[f].bind(result)]));
      return (...args) =>
        change(own(member.apply(target, name === 'jacobianNorm' ? args.map(weights) : args)));
    },
  });
`;
