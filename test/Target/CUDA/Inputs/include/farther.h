#define FAR 2
