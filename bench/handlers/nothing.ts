/** What every function pays: Node.js and the runtime client. */
export const handler = async (): Promise<number> => 0;
