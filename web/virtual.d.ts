declare module 'virtual:texts' {
  const texts: Record<string, string>;
  export default texts;
  export const locale: string;
}
declare module 'virtual:engine' {
  const base64: string;
  export default base64;
}
